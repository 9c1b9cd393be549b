#include "identity/api_keys.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/bounded_file.h"
#include "base/content_lines.h"
#include "keys/siphash.h"

namespace weir::identity {
namespace {

constexpr std::uint64_t kApiKeyVersion = 0x6b3177;  // "w1k": no API key hashes like a bucket's key
constexpr std::string_view kMark = "k_";
constexpr std::size_t kDigits = 32;

std::optional<BucketKey> parse_hash(std::string_view text) {
  if (text.size() != kMark.size() + kDigits || text.substr(0, kMark.size()) != kMark) return std::nullopt;
  BucketKey hash;
  for (std::size_t i = 0; i < kDigits; ++i) {
    const int digit = base::hex_digit(text[kMark.size() + i]);
    if (digit < 0) return std::nullopt;
    std::uint64_t& half = i < kDigits / 2 ? hash.high : hash.low;
    half = half << 4 | static_cast<std::uint64_t>(digit);
  }
  return hash;
}

// `line` is a part of `text`.
std::string line_number(std::string_view text, std::string_view line) {
  return std::to_string(1 + std::count(text.data(), line.data(), '\n'));
}

}  // namespace

Result<ApiKeys> ApiKeys::load(const keys::KeyRing& ring, const std::filesystem::path& revoked_file) {
  ApiKeys keys(ring);
  if (revoked_file.empty()) return keys;
  const Result<std::string> text = base::read_bounded_file(revoked_file, kMaxFileBytes);
  if (!text.ok()) return text.failure();
  for (const std::string_view line : base::content_lines(text.value())) {
    if (line.size() > kMaxKeyBytes) {
      return Failure{Code::invalid_argument, revoked_file.string() + ":" + line_number(text.value(), line) + ": has " +
                                                 std::to_string(line.size()) +
                                                 " bytes, expected an API key of at most " +
                                                 std::to_string(kMaxKeyBytes)};
    }
    // A line that looks like a hash may also be a key that looks like one: it revokes both.
    if (const std::optional<BucketKey> hash = parse_hash(line)) keys.revoked_.insert(*hash);
    keys.revoked_.insert(keys.hash(line));
  }
  return keys;
}

BucketKey ApiKeys::hash_under(const HashKey& secret, std::string_view key) {
  keys::SipHash hash(secret);
  hash.add_word(kApiKeyVersion);
  hash.add_framed(key);
  return hash.finish();
}

std::optional<BucketKey> ApiKeys::previous_hash(std::string_view key) const {
  if (!ring_.previous) return std::nullopt;
  return hash_under(*ring_.previous, key);
}

std::string ApiKeys::text(const BucketKey& hash) {
  std::string text(kTextBytes, '0');
  write_text(text.data(), hash);
  return text;
}

void ApiKeys::write_text(char* out, const BucketKey& hash) {
  static_assert(kTextBytes == kMark.size() + kDigits);
  kMark.copy(out, kMark.size());
  base::write_hex(out + kMark.size(), hash.high);
  base::write_hex(out + kMark.size() + kDigits / 2, hash.low);
}

bool ApiKeys::is_revoked(std::string_view key, const BucketKey& hash) const {
  if (revoked_.empty()) return false;
  if (revoked_.contains(hash)) return true;
  return ring_.previous && revoked_.contains(hash_under(*ring_.previous, key));
}

}  // namespace weir::identity
