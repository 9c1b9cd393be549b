// JwtKeys: the keys that may have signed a token, each bound to the one algorithm it is for.
//
// Binding the algorithm to the key, not to the token's header, is what makes the classic confusions impossible: a
// public RSA key is never a secret for HS256, and no key has the algorithm "none".
//
// Sources: a PEM file with public keys (RSA of at least 2048 bits → RS256, P-256 → ES256), a file with a secret of at
// least 32 bytes (HS256; one newline at its end does not count), a JWKS file (kty RSA, EC, oct; keys for other uses
// or algorithms are skipped, as RFC 7517 says). Immutable after load, so thread-safe; movable.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

struct evp_pkey_st;

namespace weir::identity {

enum class JwtAlgorithm : std::uint8_t { hs256, rs256, es256 };

struct EvpKeyDeleter {
  void operator()(evp_pkey_st* key) const;
};
using EvpKey = std::unique_ptr<evp_pkey_st, EvpKeyDeleter>;

struct JwtKey {
  JwtAlgorithm algorithm = JwtAlgorithm::hs256;
  std::string id;      // "kid"; empty: fits any token
  std::string secret;  // hs256
  EvpKey public_key;   // rs256, es256
};

class JwtKeys {
 public:
  static constexpr std::size_t kMaxKeys = 64;
  static constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMinSecretBytes = 32;
  static constexpr int kMinRsaBits = 2048;
  static constexpr int kMaxRsaBits = 8192;  // beyond, a verification costs milliseconds

  Status add_pem_file(const std::filesystem::path& file);
  Status add_secret_file(const std::filesystem::path& file);
  Status add_jwks_file(const std::filesystem::path& file);
  // The text of a JWKS; failures mention `name`.
  Status add_jwks(std::string_view json, const std::string& name);

  std::span<const JwtKey> all() const { return keys_; }

 private:
  Status add(JwtKey key, const std::string& name);

  std::vector<JwtKey> keys_;
};

// True if the signature is the key's over the message. Compares in constant time where a secret is involved.
bool verify_signature(const JwtKey& key, std::string_view message, std::string_view signature);

}  // namespace weir::identity
