// JwtVerifier: checks a JSON Web Token (RFC 7519, signed as in RFC 7515) and reads claims out of it.
//
// Refused: tokens over kMaxTokenBytes, anything but three strict base64url parts, duplicate members, unknown "crit"
// extensions, an algorithm that is not the key's own (no key has "none"), a signature that does not fit, expired and
// not yet valid tokens, tokens without "exp" unless the options allow them, another issuer or audience than the one
// set.
//
// The failure's message is for logs and metrics: one of a few fixed words, nothing from the token. Callers
// should not be sent even that.
//
// Immutable after load, so thread-safe; reloading means loading again and replacing the object.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "identity/jwt_keys.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::identity {

struct JwtOptions {
  std::filesystem::path pem_file;     // public keys
  std::filesystem::path secret_file;  // for HS256
  std::filesystem::path jwks_file;
  std::string issuer;    // empty: any
  std::string audience;  // empty: any
  std::chrono::seconds leeway{30};
  bool require_expiry = true;
};

class JwtVerifier {
 public:
  static constexpr std::size_t kMaxTokenBytes = 8192;
  static constexpr std::size_t kMaxTriedKeys = 8;
  static constexpr std::chrono::seconds kMaxLeeway{600};

  // invalid_argument if no key is given or one is unfit; failures name the file.
  static Result<JwtVerifier> load(const JwtOptions& options);

  // The value of each of `paths`, in their order. A path names a claim ("sub") or one inside another ("org.id"); a
  // claim whose own name contains dots is found by it. Texts, whole numbers and booleans are taken; for a claim that
  // is missing or of another kind there is no value. The failure is always unauthenticated.
  Result<std::vector<std::optional<std::string>>> verify(std::string_view token, TimePoint now,
                                                         std::span<const std::string> paths) const;

 private:
  JwtVerifier(JwtOptions options, JwtKeys keys) : options_(std::move(options)), keys_(std::move(keys)) {}

  JwtOptions options_;
  JwtKeys keys_;
};

}  // namespace weir::identity
