#include "control/key_hash.h"

// The one-shot functions of OpenSSL 3 are many times slower, because they look the algorithm up each time.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <cstring>

#include "base/base64url.h"
#include "control/change_log.h"

namespace weir::control {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::string_view kSecretName = "api_keys";

const database::Statement kReadSecret{"SELECT secret FROM control_secret WHERE name = $1"};
const database::Statement kAddSecret{"INSERT INTO control_secret (name, secret) VALUES ($1, $2)"};

std::string random_text() {
  std::array<unsigned char, kSecretBytes> bytes;
  // Fails only if the system has no source of randomness, and then nothing is safe.
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) std::abort();
  return base::encode_base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

BucketKey key_of(const unsigned char* digest) {
  BucketKey key;
  std::memcpy(&key.high, digest, sizeof key.high);
  std::memcpy(&key.low, digest + sizeof key.high, sizeof key.low);
  return key;
}

}  // namespace

std::string make_api_key() { return "wk_" + random_text(); }

struct KeyHasher::Pads {
  SHA256_CTX inner;
  SHA256_CTX outer;
};

KeyHasher::KeyHasher(std::string_view secret)
    : pads_([&] {
        std::array<unsigned char, SHA256_CBLOCK> block{};
        std::memcpy(block.data(), secret.data(), std::min(secret.size(), block.size()));
        auto pads = std::make_unique<Pads>();
        for (unsigned char& byte : block) byte ^= 0x36;
        SHA256_Init(&pads->inner);
        SHA256_Update(&pads->inner, block.data(), block.size());
        for (unsigned char& byte : block) byte ^= 0x36 ^ 0x5c;
        SHA256_Init(&pads->outer);
        SHA256_Update(&pads->outer, block.data(), block.size());
        return pads;
      }()) {}

KeyHasher::~KeyHasher() = default;

void KeyHasher::digest(std::string_view key, unsigned char* out) const {
  SHA256_CTX context = pads_->inner;
  SHA256_Update(&context, key.data(), key.size());
  SHA256_Final(out, &context);
  context = pads_->outer;
  SHA256_Update(&context, out, SHA256_DIGEST_LENGTH);
  SHA256_Final(out, &context);
}

std::string KeyHasher::hash(std::string_view key) const {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes;
  digest(key, bytes.data());
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text;
}

BucketKey KeyHasher::short_hash(std::string_view key) const {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes;
  digest(key, bytes.data());
  return key_of(bytes.data());
}

std::optional<BucketKey> KeyHasher::short_of(std::string_view stored) {
  if (stored.size() != std::size_t{2} * SHA256_DIGEST_LENGTH) return std::nullopt;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit_of(stored[2 * i]);
    const int low = digit_of(stored[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return key_of(bytes.data());
}

Result<std::string> ensure_key_secret(database::Session& session) {
  const Result<database::Rows> rows = session.run(kReadSecret, std::string(kSecretName));
  if (!rows.ok()) return rows.failure();
  if (!rows.value().empty()) return database::text(rows.value().front().front());
  std::string secret = random_text();
  const Result<database::Rows> added = session.run(kAddSecret, std::string(kSecretName), secret);
  if (!added.ok()) return added.failure();
  if (Status noted = note_change(session, kKeySecretTopic); !noted.ok()) return noted.failure();
  return secret;
}

Result<std::string> KeySecret::read(database::Session& session) {
  const Result<database::Rows> rows = session.run(kReadSecret, std::string(kSecretName));
  if (!rows.ok()) return rows.failure();
  return rows.value().empty() ? std::string() : database::text(rows.value().front().front());
}

Status KeySecret::apply(std::string_view text) {
  auto made = text.empty() ? nullptr : std::make_shared<const KeyHasher>(text);
  const std::lock_guard lock(mutex_);
  hasher_ = std::move(made);
  return success();
}

std::shared_ptr<const KeyHasher> KeySecret::hasher() const {
  const std::lock_guard lock(mutex_);
  return hasher_;
}

}  // namespace weir::control
