#include "identity/jwt.h"

#include <gtest/gtest.h>

#include "base/base64url.h"
#include "tests/support/scratch_file.h"
#include "tests/support/token_maker.h"

namespace weir::identity {
namespace {

const std::string kSecret = "0123456789abcdef0123456789abcdef";
constexpr std::int64_t kNow = 1'800'000'000;
const std::string kClaims = R"({"sub":"alice","exp":1800000100})";

TimePoint at(std::int64_t seconds) { return from_micros(seconds * 1'000'000); }

// "" if the token is accepted, else the word.
std::string fault(const JwtVerifier& verifier, std::string_view token, std::int64_t now = kNow) {
  const auto values = verifier.verify(token, at(now), {});
  if (values.ok()) return "";
  EXPECT_EQ(values.failure().code, Code::unauthenticated);
  return values.failure().message;
}

JwtVerifier with_secret(JwtOptions options = {}) {
  const ScratchFile file(kSecret + "\n");
  options.secret_file = file.path();
  return JwtVerifier::load(options).value();
}

JwtVerifier with_pem(const std::string& pem) {
  const ScratchFile file(pem);
  JwtOptions options;
  options.pem_file = file.path();
  return JwtVerifier::load(options).value();
}

Result<JwtVerifier> with_jwks(const std::string& json) {
  const ScratchFile file(json);
  JwtOptions options;
  options.jwks_file = file.path();
  return JwtVerifier::load(options);
}

// Editors and shells end a file with a line ending of their own, which is no part of the secret.
TEST(Jwt, ALineEndingBehindTheSecretIsNotPartOfIt) {
  for (const char* ending : {"", "\n", "\r\n"}) {
    const ScratchFile file(kSecret + ending);
    JwtOptions options;
    options.secret_file = file.path();
    const auto verifier = JwtVerifier::load(options);
    ASSERT_TRUE(verifier.ok());
    EXPECT_EQ(fault(verifier.value(), hs256_token(kSecret, kClaims)), "") << ::testing::PrintToString(ending);
    EXPECT_EQ(fault(verifier.value(), hs256_token(kSecret + "\n", kClaims)), "bad_signature");
  }
}

// The example of RFC 7515, appendix A.1, made by others long ago.
TEST(Jwt, AcceptsTheExampleOfTheStandard) {
  const auto verifier = with_jwks(
      R"({"keys":[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]})");
  ASSERT_TRUE(verifier.ok());
  const std::string token =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const std::vector<std::string> paths = {"iss", "http://example.com/is_root", "exp", "missing"};
  const auto values = verifier.value().verify(token, at(1'300'819'379), paths);
  ASSERT_TRUE(values.ok()) << values.failure().message;
  EXPECT_EQ(values.value()[0], "joe");
  EXPECT_EQ(values.value()[1], "true");
  EXPECT_EQ(values.value()[2], "1300819380");
  EXPECT_EQ(values.value()[3], std::nullopt);
  EXPECT_EQ(fault(verifier.value(), token), "expired");
}

TEST(Jwt, AcceptsRs256AndEs256FromPem) {
  const KeyPair rsa = KeyPair::rsa();
  const KeyPair ec = KeyPair::ec();
  const JwtVerifier verifier = with_pem(rsa.pem() + ec.pem());
  EXPECT_EQ(fault(verifier, signed_token(rsa, R"({"alg":"RS256"})", kClaims)), "");
  EXPECT_EQ(fault(verifier, signed_token(ec, R"({"alg":"ES256"})", kClaims)), "");
  EXPECT_EQ(fault(verifier, signed_token(rsa, R"({"alg":"ES256"})", kClaims)), "bad_signature");
  EXPECT_EQ(fault(verifier, signed_token(ec, R"({"alg":"RS256"})", kClaims)), "bad_signature");
  EXPECT_EQ(fault(verifier, signed_token(KeyPair::ec(), R"({"alg":"ES256"})", kClaims)), "bad_signature");
}

// A token without a key's id is tried with a few keys, not with all that a file may have.
TEST(Jwt, TriesABoundedNumberOfKeys) {
  std::string keys;
  const auto secret = [](std::size_t i) { return std::string(31, 's') + static_cast<char>('a' + i); };
  for (std::size_t i = 0; i <= JwtVerifier::kMaxTriedKeys; ++i) {
    keys += (i > 0 ? "," : "") + std::string(R"({"kty":"oct","k":")") + base64url(secret(i)) + "\"}";
  }
  const auto verifier = with_jwks("{\"keys\":[" + keys + "]}");
  ASSERT_TRUE(verifier.ok());
  EXPECT_EQ(fault(verifier.value(), hs256_token(secret(JwtVerifier::kMaxTriedKeys - 1), kClaims)), "");
  EXPECT_EQ(fault(verifier.value(), hs256_token(secret(JwtVerifier::kMaxTriedKeys), kClaims)), "bad_signature");
}

TEST(Jwt, APublicKeyIsNeverASecret) {
  const KeyPair rsa = KeyPair::rsa();
  const JwtVerifier verifier = with_pem(rsa.pem());
  EXPECT_EQ(fault(verifier, hs256_token(rsa.pem(), kClaims)), "bad_signature");
  // Even where a secret is configured as well, and with the key's own kid.
  const ScratchFile pem(rsa.pem());
  const ScratchFile secret(kSecret);
  JwtOptions options;
  options.pem_file = pem.path();
  options.secret_file = secret.path();
  const JwtVerifier both = JwtVerifier::load(options).value();
  EXPECT_EQ(fault(both, hs256_token(rsa.pem(), kClaims)), "bad_signature");
  EXPECT_EQ(fault(both, hs256_token(kSecret, kClaims)), "");
  // And an operator who mixes up the files gets an error.
  options.secret_file = pem.path();
  EXPECT_EQ(JwtVerifier::load(options).failure().code, Code::invalid_argument);
}

TEST(Jwt, RefusesNoneAndUnknownAlgorithmsInAnySpelling) {
  const JwtVerifier verifier = with_secret();
  for (const char* alg : {"none", "None", "NONE", "nOnE", "", "hs256", "HS384", "HS512", "PS256", "ES256K", "EdDSA"}) {
    const std::string header = std::string(R"({"alg":")") + alg + R"("})";
    EXPECT_EQ(fault(verifier, unsigned_part(header, kClaims) + "."), "unsupported") << alg;
    EXPECT_EQ(fault(verifier, hs256_token(kSecret, kClaims, header)), "unsupported") << alg;
  }
  EXPECT_EQ(fault(verifier, hs256_token(kSecret, kClaims, R"({"typ":"JWT"})")), "unsupported");
  EXPECT_EQ(fault(verifier, hs256_token(kSecret, kClaims, R"({"alg":["HS256"]})")), "unsupported");
  EXPECT_EQ(fault(verifier, hs256_token(kSecret, kClaims, R"({"alg":"HS256","crit":["exp"]})")), "unsupported");
  EXPECT_EQ(fault(verifier, unsigned_part(R"({"alg":"HS256"})", kClaims) + "."), "bad_signature");
}

TEST(Jwt, AnyChangedByteSpoilsTheToken) {
  const JwtVerifier verifier = with_secret();
  const std::string token = hs256_token(kSecret, kClaims);
  ASSERT_EQ(fault(verifier, token), "");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(fault(verifier, changed), "") << i;
    EXPECT_NE(fault(verifier, token.substr(0, i)), "") << i;
  }
}

TEST(Jwt, RefusesAllButStrictBase64url) {
  const JwtVerifier verifier = with_secret();
  const std::string token = hs256_token(kSecret, kClaims);
  for (const std::string& bad : {token + "=", token + ".", "." + token, token + "A.B", " " + token, token + "\n",
                                 std::string("..") + token, std::string(), std::string("a"), std::string("..")}) {
    EXPECT_EQ(fault(verifier, bad), "malformed") << bad;
  }
  EXPECT_EQ(base::decode_base64url("QQ"), "A");
  EXPECT_EQ(base::decode_base64url("QR"), std::nullopt) << "stray bits would give one signature many spellings";
  EXPECT_EQ(base::decode_base64url("Q"), std::nullopt);
  EXPECT_EQ(base::decode_base64url("QQ=="), std::nullopt);
  EXPECT_EQ(base::decode_base64url("-_-_"), "\xfb\xff\xbf");
  EXPECT_EQ(base::decode_base64url("+/+/"), std::nullopt);
}

TEST(Jwt, RefusesGiantsDeepNestsAndDuplicates) {
  const JwtVerifier verifier = with_secret();
  EXPECT_EQ(fault(verifier, std::string(JwtVerifier::kMaxTokenBytes + 1, 'A')), "too_long");
  const auto with = [&](const std::string& payload) { return fault(verifier, hs256_token(kSecret, payload)); };
  EXPECT_EQ(with(R"({"sub":"a","sub":"b","exp":1800000100})"), "malformed");
  EXPECT_EQ(with(R"({"sub":"a","s\u0075b":"b","exp":1800000100})"), "malformed") << "an escape hides nothing";
  EXPECT_EQ(with(R"({"org":{"id":1,"id":2},"exp":1800000100})"), "malformed");
  EXPECT_EQ(with(R"({"l":[{"id":1,"id":2}],"exp":1800000100})"), "malformed");
  EXPECT_EQ(with(R"({"a":)" + std::string(500, '[') + std::string(500, ']') + R"(,"exp":1800000100})"), "malformed");
  EXPECT_EQ(with("[]"), "malformed");
  EXPECT_EQ(with("{"), "malformed");
  EXPECT_EQ(with(""), "malformed");
  EXPECT_EQ(with("{\"sub\":\"\xff\",\"exp\":1800000100}"), "malformed") << "not UTF-8";
  EXPECT_EQ(fault(verifier, hs256_token(kSecret, kClaims, R"({"alg":"none","alg":"HS256"})")), "malformed");
}

TEST(Jwt, HoldsToItsTimesWithLeewayAndNoMore) {
  JwtOptions options;
  options.leeway = std::chrono::seconds{10};
  const JwtVerifier verifier = with_secret(options);
  const std::string token = hs256_token(kSecret, R"({"nbf":1000,"exp":2000})");
  EXPECT_EQ(fault(verifier, token, 989), "not_yet_valid");
  EXPECT_EQ(fault(verifier, token, 990), "");
  EXPECT_EQ(fault(verifier, token, 2009), "");
  EXPECT_EQ(fault(verifier, token, 2010), "expired");
  const auto with = [&](const std::string& payload) { return fault(verifier, hs256_token(kSecret, payload)); };
  EXPECT_EQ(with(R"({"sub":"a"})"), "no_expiry");
  EXPECT_EQ(with(R"({"exp":"1800000100"})"), "malformed");
  EXPECT_EQ(with(R"({"exp":null})"), "malformed");
  EXPECT_EQ(with(R"({"exp":1800000100.5})"), "");
  EXPECT_EQ(with(R"({"exp":1e300})"), "");
  EXPECT_EQ(with(R"({"exp":18446744073709551615})"), "");
  EXPECT_EQ(with(R"({"exp":-9223372036854775808})"), "expired");
  EXPECT_EQ(with(R"({"exp":-1e300})"), "malformed");
  EXPECT_EQ(with(R"({"exp":1800000100,"nbf":9223372036854775807})"), "not_yet_valid");
  options.require_expiry = false;
  EXPECT_EQ(fault(with_secret(options), hs256_token(kSecret, R"({"sub":"a"})")), "");
  options.leeway = std::chrono::seconds{601};
  EXPECT_FALSE(JwtVerifier::load(options).ok());
}

TEST(Jwt, HoldsToIssuerAndAudience) {
  JwtOptions options;
  options.issuer = "https://id.example";
  options.audience = "weir";
  const JwtVerifier verifier = with_secret(options);
  const auto with = [&](const std::string& more) {
    return fault(verifier, hs256_token(kSecret, R"({"exp":1800000100)" + more + "}"));
  };
  EXPECT_EQ(with(R"(,"iss":"https://id.example","aud":"weir")"), "");
  EXPECT_EQ(with(R"(,"iss":"https://id.example","aud":["other","weir"])"), "");
  EXPECT_EQ(with(R"(,"aud":"weir")"), "wrong_issuer");
  EXPECT_EQ(with(R"(,"iss":"https://id.example.evil","aud":"weir")"), "wrong_issuer");
  EXPECT_EQ(with(R"(,"iss":["https://id.example"],"aud":"weir")"), "wrong_issuer");
  EXPECT_EQ(with(R"(,"iss":"https://id.example")"), "wrong_audience");
  EXPECT_EQ(with(R"(,"iss":"https://id.example","aud":"weird")"), "wrong_audience");
  EXPECT_EQ(with(R"(,"iss":"https://id.example","aud":[])"), "wrong_audience");
  EXPECT_EQ(with(R"(,"iss":"https://id.example","aud":{"weir":1})"), "wrong_audience");
}

TEST(Jwt, ClaimsAreTextsWholeNumbersBooleansAndWhatIsInside) {
  const JwtVerifier verifier = with_secret();
  const std::string token = hs256_token(
      kSecret, R"({"exp":1800000100,"s":"x\u00e9","n":-7,"u":18446744073709551615,"b":false,"d":1.5,"z":null,)"
               R"("l":["a"],"o":{"i":{"j":"deep"}},"a.b":"dotted","a":{"b":"nested","c":"other"}})");
  const std::vector<std::string> paths = {"s", "n", "u", "b", "d", "z", "l", "o", "o.i.j", "a.b", "a.c", "o.i.j.k", ""};
  const auto values = verifier.verify(token, at(kNow), paths);
  ASSERT_TRUE(values.ok()) << values.failure().message;
  const std::vector<std::optional<std::string>> expected = {"x\xc3\xa9",  "-7",         "18446744073709551615",
                                                            "false",      std::nullopt, std::nullopt,
                                                            std::nullopt, std::nullopt, "deep",
                                                            "dotted",     "other",      std::nullopt,
                                                            std::nullopt};
  EXPECT_EQ(values.value(), expected);
}

TEST(Jwks, ChoosesByKidAndKind) {
  const KeyPair rsa = KeyPair::rsa();
  const KeyPair ec = KeyPair::ec();
  const KeyPair other = KeyPair::ec();
  const auto verifier = with_jwks(R"({"keys":[)" + rsa.jwk("r", R"(,"use":"sig","alg":"RS256")") + "," + ec.jwk("e") +
                                  "," + other.jwk("o", R"(,"use":"enc")") +
                                  R"(,{"kty":"OKP","crv":"Ed25519","x":"AA"},{"kty":"EC","crv":"P-521"}]})");
  ASSERT_TRUE(verifier.ok()) << verifier.failure().message;
  const JwtVerifier& v = verifier.value();
  EXPECT_EQ(fault(v, signed_token(rsa, R"({"alg":"RS256","kid":"r"})", kClaims)), "");
  EXPECT_EQ(fault(v, signed_token(ec, R"({"alg":"ES256","kid":"e"})", kClaims)), "");
  EXPECT_EQ(fault(v, signed_token(ec, R"({"alg":"ES256"})", kClaims)), "") << "without kid all of the kind are tried";
  EXPECT_EQ(fault(v, signed_token(ec, R"({"alg":"ES256","kid":"r"})", kClaims)), "bad_signature");
  EXPECT_EQ(fault(v, signed_token(ec, R"({"alg":"ES256","kid":"nobody"})", kClaims)), "bad_signature");
  EXPECT_EQ(fault(v, signed_token(other, R"({"alg":"ES256"})", kClaims)), "bad_signature") << "not for signatures";
  EXPECT_EQ(fault(v, signed_token(ec, R"({"alg":"ES256","kid":7})", kClaims)), "unsupported");
  // A key the token brings along is not ours.
  EXPECT_EQ(fault(v, signed_token(other, R"({"alg":"ES256","jwk":)" + other.jwk("e") + "}", kClaims)), "bad_signature");
}

TEST(Jwks, WeakAndBrokenKeysAreRefused) {
  const auto refused = [](const std::string& keys) {
    const auto verifier = with_jwks(R"({"keys":[)" + keys + "]}");
    return !verifier.ok() && verifier.failure().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused(KeyPair::rsa(1024).jwk("weak")));
  EXPECT_TRUE(refused(R"({"kty":"oct","k":"c2hvcnQ"})"));
  EXPECT_TRUE(refused(R"({"kty":"oct"})"));
  EXPECT_TRUE(refused(R"({"kty":"RSA","n":"","e":"AQAB"})"));
  EXPECT_TRUE(refused(R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})"));
  const std::string ones = base64url(std::string(32, '\1'));
  EXPECT_TRUE(refused(R"({"kty":"EC","crv":"P-256","x":")" + ones + R"(","y":")" + ones + R"("})")) << "off the curve";
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("7"));
  EXPECT_FALSE(with_jwks("{}").ok());
  EXPECT_FALSE(with_jwks("").ok());
  EXPECT_FALSE(JwtVerifier::load({}).ok()) << "no keys at all";
  JwtOptions p384;
  const ScratchFile file(KeyPair::ec("P-384").pem());
  p384.pem_file = file.path();
  EXPECT_FALSE(JwtVerifier::load(p384).ok());
  p384.pem_file = "no/such/file";
  EXPECT_EQ(JwtVerifier::load(p384).failure().code, Code::not_found);
}

TEST(Jwt, EcdsaSignaturesAreOfOneForm) {
  const KeyPair ec = KeyPair::ec();
  const JwtVerifier verifier = with_pem(ec.pem());
  const std::string message = unsigned_part(R"({"alg":"ES256"})", kClaims);
  EXPECT_EQ(fault(verifier, message + "." + base64url(std::string(64, '\0'))), "bad_signature") << "r = s = 0";
  EXPECT_EQ(fault(verifier, message + "." + base64url(std::string(64, '\xff'))), "bad_signature");
  const std::string good = ec.sign(message);
  EXPECT_EQ(fault(verifier, message + "." + base64url(good)), "");
  EXPECT_EQ(fault(verifier, message + "." + base64url(good + std::string(1, '\0'))), "bad_signature");
  EXPECT_EQ(fault(verifier, message + "." + base64url(good.substr(0, 63))), "bad_signature");
}

}  // namespace
}  // namespace weir::identity
