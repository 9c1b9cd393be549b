#include "identity/jwt_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <simdjson.h>

#include <array>

#include "base/base64url.h"
#include "base/bounded_file.h"

namespace weir::identity {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kSha256Bytes = 32;
constexpr std::size_t kMaxKeyFileDepth = 16;

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;

using Bio = Owned<BIO, BIO_free_all>;
using Number = Owned<BIGNUM, BN_free>;
using DigestContext = Owned<EVP_MD_CTX, EVP_MD_CTX_free>;
using KeyContext = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using ParamBuilder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Params = Owned<OSSL_PARAM, OSSL_PARAM_free>;
using Signature = Owned<ECDSA_SIG, ECDSA_SIG_free>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Number number(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

// What the key may verify; failed if it is of no kind we take, or too weak.
Result<JwtAlgorithm> algorithm_of(EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "RSA")) {
    const int bits = EVP_PKEY_get_bits(key);
    if (bits < JwtKeys::kMinRsaBits || bits > JwtKeys::kMaxRsaBits) {
      return Failure{Code::invalid_argument, "an RSA key has " + std::to_string(bits) + " bits, expected " +
                                                 std::to_string(JwtKeys::kMinRsaBits) + " to " +
                                                 std::to_string(JwtKeys::kMaxRsaBits)};
    }
    return JwtAlgorithm::rs256;
  }
  std::array<char, 64> group{};
  if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) == 1 &&
      std::string_view(group.data()) == "prime256v1") {
    return JwtAlgorithm::es256;
  }
  return Failure{Code::invalid_argument, "a key is neither RSA nor on the curve P-256"};
}

EvpKey key_from(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return EvpKey(key);
}

EvpKey rsa_key(std::string_view modulus, std::string_view exponent) {
  const Number n = number(modulus);
  const Number e = number(exponent);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  return key_from("RSA", builder.get());
}

EvpKey p256_key(std::string_view x, std::string_view y) {
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes) return nullptr;
  const std::string point = "\x04" + std::string(x) + std::string(y);
  const ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return nullptr;
  }
  return key_from("EC", builder.get());
}

std::string_view text_member(const dom::object& object, std::string_view name) {
  std::string_view value;
  return object[name].get(value) == simdjson::SUCCESS ? value : std::string_view{};
}

// A member of base64url; empty if it is missing or malformed.
std::string bytes_member(const dom::object& object, std::string_view name) {
  return base::decode_base64url(text_member(object, name)).value_or(std::string{});
}

// Whether a JWK is for signatures by `algorithm`.
bool is_meant_for(const dom::object& jwk, std::string_view algorithm) {
  const std::string_view use = text_member(jwk, "use");
  const std::string_view alg = text_member(jwk, "alg");
  return (use.empty() || use == "sig") && (alg.empty() || alg == algorithm);
}

// Nothing for a key to be skipped, a failure for one that is of our kind but broken.
Result<std::unique_ptr<JwtKey>> parse_jwk(const dom::object& jwk) {
  auto key = std::make_unique<JwtKey>();
  key->id = std::string(text_member(jwk, "kid"));
  const std::string_view type = text_member(jwk, "kty");
  if (type == "oct" && is_meant_for(jwk, "HS256")) {
    key->algorithm = JwtAlgorithm::hs256;
    key->secret = bytes_member(jwk, "k");
    return key;
  }
  if (type == "RSA" && is_meant_for(jwk, "RS256")) {
    key->public_key = rsa_key(bytes_member(jwk, "n"), bytes_member(jwk, "e"));
  } else if (type == "EC" && text_member(jwk, "crv") == "P-256" && is_meant_for(jwk, "ES256")) {
    key->public_key = p256_key(bytes_member(jwk, "x"), bytes_member(jwk, "y"));
  } else {
    return std::unique_ptr<JwtKey>();
  }
  ERR_clear_error();
  if (!key->public_key) return Failure{Code::invalid_argument, "a key's numbers are missing or invalid"};
  const Result<JwtAlgorithm> algorithm = algorithm_of(key->public_key.get());
  if (!algorithm.ok()) return algorithm.failure();
  key->algorithm = algorithm.value();
  return key;
}

bool verify_hmac(std::string_view secret, std::string_view message, std::string_view signature) {
  std::array<unsigned char, kSha256Bytes> expected{};
  unsigned length = 0;
  if (signature.size() != expected.size()) return false;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(message), message.size(),
           expected.data(), &length) == nullptr) {
    return false;
  }
  return CRYPTO_memcmp(expected.data(), signature.data(), expected.size()) == 0;
}

// A token carries r and s side by side; OpenSSL wants them in DER. Empty if that cannot be made.
std::string ecdsa_der(std::string_view signature) {
  if (signature.size() != 2 * kCoordinateBytes) return {};
  Number r = number(signature.substr(0, kCoordinateBytes));
  Number s = number(signature.substr(kCoordinateBytes));
  const Signature pair(ECDSA_SIG_new());
  if (!r || !s || !pair || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  static_cast<void>(r.release());  // the pair owns them now
  static_cast<void>(s.release());
  const int length = i2d_ECDSA_SIG(pair.get(), nullptr);
  if (length <= 0) return {};
  std::string der(static_cast<std::size_t>(length), '\0');
  auto* at = reinterpret_cast<unsigned char*>(der.data());
  i2d_ECDSA_SIG(pair.get(), &at);
  return der;
}

}  // namespace

void EvpKeyDeleter::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

Status JwtKeys::add(JwtKey key, const std::string& name) {
  if (keys_.size() == kMaxKeys) {
    return Failure{Code::invalid_argument, name + ": more than " + std::to_string(kMaxKeys) + " keys"};
  }
  if (key.algorithm == JwtAlgorithm::hs256 && key.secret.size() < kMinSecretBytes) {
    return Failure{Code::invalid_argument, name + ": a secret for HS256 has fewer than " +
                                               std::to_string(kMinSecretBytes) + " bytes and could be guessed"};
  }
  keys_.push_back(std::move(key));
  return success();
}

Status JwtKeys::add_pem_file(const std::filesystem::path& file) {
  const Result<std::string> text = base::read_bounded_file(file, kMaxFileBytes);
  if (!text.ok()) return text.failure();
  const Bio bio(BIO_new_mem_buf(text.value().data(), static_cast<int>(text.value().size())));
  std::size_t count = 0;
  while (EVP_PKEY* read = bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr) {
    JwtKey key;
    key.public_key.reset(read);
    const Result<JwtAlgorithm> algorithm = algorithm_of(read);
    if (!algorithm.ok()) return Failure{algorithm.failure().code, file.string() + ": " + algorithm.failure().message};
    key.algorithm = algorithm.value();
    if (Status added = add(std::move(key), file.string()); !added.ok()) return added;
    ++count;
  }
  ERR_clear_error();  // the end of the file counts as an error there
  if (count == 0) return Failure{Code::invalid_argument, file.string() + ": contains no public key in PEM"};
  return success();
}

Status JwtKeys::add_secret_file(const std::filesystem::path& file) {
  Result<std::string> text = base::read_bounded_file(file, kMaxFileBytes);
  if (!text.ok()) return text.failure();
  JwtKey key;
  key.secret = std::move(text).value();
  if (!key.secret.empty() && key.secret.back() == '\n') key.secret.pop_back();
  if (!key.secret.empty() && key.secret.back() == '\r') key.secret.pop_back();
  if (key.secret.starts_with("-----BEGIN ")) {
    return Failure{Code::invalid_argument, file.string() + ": contains PEM, which is not a secret"};
  }
  return add(std::move(key), file.string());
}

Status JwtKeys::add_jwks_file(const std::filesystem::path& file) {
  const Result<std::string> text = base::read_bounded_file(file, kMaxFileBytes);
  if (!text.ok()) return text.failure();
  return add_jwks(text.value(), file.string());
}

Status JwtKeys::add_jwks(std::string_view json, const std::string& name) {
  dom::parser parser(kMaxFileBytes);
  dom::element root;
  dom::array list;
  if (parser.allocate(json.size(), kMaxKeyFileDepth) != simdjson::SUCCESS ||
      parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root["keys"].get(list) != simdjson::SUCCESS) {
    return Failure{Code::invalid_argument, name + ": is not a JWKS, expected {\"keys\": […]}"};
  }
  const std::size_t before = keys_.size();
  for (const dom::element item : list) {
    dom::object jwk;
    if (item.get(jwk) != simdjson::SUCCESS) return Failure{Code::invalid_argument, name + ": a key is not an object"};
    Result<std::unique_ptr<JwtKey>> key = parse_jwk(jwk);
    if (!key.ok()) return Failure{key.failure().code, name + ": " + key.failure().message};
    if (!key.value()) continue;
    if (Status added = add(std::move(*key.value()), name); !added.ok()) return added;
  }
  if (keys_.size() == before)
    return Failure{Code::invalid_argument, name + ": contains no key for HS256, RS256 or ES256"};
  return success();
}

bool verify_signature(const JwtKey& key, std::string_view message, std::string_view signature) {
  if (key.algorithm == JwtAlgorithm::hs256) return verify_hmac(key.secret, message, signature);
  std::string der;
  if (key.algorithm == JwtAlgorithm::es256) {
    der = ecdsa_der(signature);
    if (der.empty()) return false;
    signature = der;
  }
  const DigestContext context(EVP_MD_CTX_new());
  const bool good =
      context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.public_key.get()) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message), message.size()) == 1;
  if (!good) ERR_clear_error();
  return good;
}

}  // namespace weir::identity
