#include "frontends/http/idempotency_field.h"

#include <openssl/evp.h>

#include <cassert>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/ascii.h"
#include "weir/hold.h"

namespace weir::http {
namespace {

constexpr std::string_view kName = "Idempotency-Key";

Failure bad_key(std::string_view what) {
  return {Code::invalid_argument, std::string(kName) + ": " + std::string(what)};
}

bool is_visible(char c) { return c > ' ' && c < '\x7f'; }

// The text between the quotes; nothing if it is not a structured field string (RFC 9651, section 3.3.3).
std::optional<std::string> unquoted(std::string_view value) {
  std::string text;
  if (value.size() < 2 || value.back() != '"') return std::nullopt;
  for (std::size_t i = 1; i + 1 < value.size(); ++i) {
    char c = value[i];
    if (c == '\\') {
      c = value[++i];
      if (i + 1 >= value.size() || (c != '"' && c != '\\')) return std::nullopt;
    } else if (c == '"') {
      return std::nullopt;
    }
    if (!is_visible(c) && c != ' ') return std::nullopt;
    text += c;
  }
  return text;
}

}  // namespace

Result<std::optional<std::string>> read_idempotency_key(const HttpRequest& request) {
  const HttpField* found = nullptr;
  for (const HttpField& field : request.fields) {
    if (!base::same_ignoring_case(field.name, kName)) continue;
    if (found != nullptr) return bad_key("is given twice");
    found = &field;
  }
  if (found == nullptr) return std::optional<std::string>();
  std::optional<std::string> key;
  if (found->value.starts_with('"')) {
    key = unquoted(found->value);
  } else {
    bool plain = true;
    for (const char c : found->value) plain = plain && is_visible(c) && c != '"' && c != ',';
    if (plain) key = std::string(found->value);
  }
  if (!key) return bad_key("must be a string of visible ASCII characters, in quotes or without");
  if (key->empty() || key->size() > kMaxIdempotencyKey) {
    return bad_key("must have 1 to " + std::to_string(kMaxIdempotencyKey) + " characters");
  }
  return key;
}

BucketKey hash_of_request(const HttpRequest& request) {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  bool done = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (const std::string_view part : {request.method, request.path, request.query, request.body}) {
    const std::uint64_t size = part.size();  // in front of each part, so that no two requests give the same bytes
    done = done && EVP_DigestUpdate(context.get(), &size, sizeof size) == 1 &&
           EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  done = done && EVP_DigestFinal_ex(context.get(), digest, nullptr) == 1;
  assert(done && "SHA-256 needs nothing but memory");
  BucketKey key;
  std::memcpy(&key.high, digest, sizeof key.high);
  std::memcpy(&key.low, digest + sizeof key.high, sizeof key.low);
  return key;
}

}  // namespace weir::http
