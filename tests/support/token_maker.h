// Makes JSON Web Tokens for tests, with OpenSSL and independently of the code under test.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <memory>
#include <string>
#include <string_view>

namespace weir::identity {

inline std::string base64url(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  while (!text.empty() && text.back() == '=') text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

// A key pair with its public half as PEM and as JWK.
class KeyPair {
 public:
  static KeyPair rsa(unsigned bits = 2048) {
    return KeyPair(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{bits}));
  }
  static KeyPair ec(const char* curve = "P-256") { return KeyPair(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve)); }

  std::string pem() const {
    std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), BIO_free_all);
    PEM_write_bio_PUBKEY(bio.get(), key_.get());
    char* text = nullptr;
    const long length = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<std::size_t>(length));
  }

  std::string jwk(const std::string& kid, const std::string& more = "") const {
    if (EVP_PKEY_is_a(key_.get(), "RSA")) {
      return R"({"kty":"RSA","kid":")" + kid + R"(","n":")" + number(OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
             number(OSSL_PKEY_PARAM_RSA_E) + "\"" + more + "}";
    }
    return R"({"kty":"EC","crv":"P-256","kid":")" + kid + R"(","x":")" + number(OSSL_PKEY_PARAM_EC_PUB_X, 32) +
           R"(","y":")" + number(OSSL_PKEY_PARAM_EC_PUB_Y, 32) + "\"" + more + "}";
  }

  // RS256: as OpenSSL makes it. ES256: r and s side by side.
  std::string sign(std::string_view message) const {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
    std::size_t length = 0;
    EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get());
    EVP_DigestSign(context.get(), nullptr, &length, bytes, message.size());
    std::string signature(length, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length, bytes, message.size());
    signature.resize(length);
    return EVP_PKEY_is_a(key_.get(), "EC") ? side_by_side(signature) : signature;
  }

 private:
  explicit KeyPair(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}

  std::string number(const char* name, int width = 0) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    std::string bytes(static_cast<std::size_t>(width != 0 ? width : BN_num_bytes(value)), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    BN_free(value);
    return base64url(bytes);
  }

  static std::string side_by_side(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string both(64, '\0');
    auto* out = reinterpret_cast<unsigned char*>(both.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + 32, 32);
    ECDSA_SIG_free(pair);
    return both;
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

inline std::string hmac_sha256(std::string_view secret, std::string_view message) {
  std::string out(32, '\0');
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       reinterpret_cast<unsigned char*>(out.data()), &length);
  return out;
}

inline std::string unsigned_part(const std::string& header, const std::string& payload) {
  return base64url(header) + "." + base64url(payload);
}

inline std::string signed_token(const KeyPair& key, const std::string& header, const std::string& payload) {
  const std::string message = unsigned_part(header, payload);
  return message + "." + base64url(key.sign(message));
}

inline std::string hs256_token(std::string_view secret, const std::string& payload,
                               const std::string& header = R"({"alg":"HS256","typ":"JWT"})") {
  const std::string message = unsigned_part(header, payload);
  return message + "." + base64url(hmac_sha256(secret, message));
}

}  // namespace weir::identity
