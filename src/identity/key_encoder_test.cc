#include "identity/key_encoder.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <string>
#include <vector>

namespace weir::identity {
namespace {

HashKey counting_key() {
  HashKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return key;
}

// The oracle.
BucketKey openssl_siphash(const HashKey& key, const std::string& bytes) {
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  std::size_t size = 16;
  unsigned compressing = 1;
  unsigned finishing = 3;
  OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t("size", &size),
                         OSSL_PARAM_construct_uint("c-rounds", &compressing),
                         OSSL_PARAM_construct_uint("d-rounds", &finishing), OSSL_PARAM_construct_end()};
  EXPECT_EQ(1, EVP_MAC_init(context, key.data(), key.size(), params));
  EXPECT_EQ(1, EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
  unsigned char out[16];
  std::size_t written = 0;
  EXPECT_EQ(1, EVP_MAC_final(context, out, &written, sizeof out));
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
  BucketKey result;
  std::memcpy(&result.low, out, 8);
  std::memcpy(&result.high, out + 8, 8);
  return result;
}

// What add_framed() feeds: the length as a word, the bytes, zeros up to the next word.
std::string framed(const std::string& text) {
  const std::uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), 8);
  bytes += text;
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

TEST(SipHash, AgreesWithOpensslForTextsOfEveryLength) {
  const HashKey key = counting_key();
  std::string text;
  for (int length = 0; length < 80; ++length) {
    SipHash hash(key);
    hash.add_framed(text);
    hash.add_framed("and another");
    hash.add_word(42);
    const std::uint64_t word = 42;
    ASSERT_EQ(openssl_siphash(
                  key, framed(text) + framed("and another") + std::string(reinterpret_cast<const char*>(&word), 8)),
              hash.finish())
        << "length " << length;
    text.push_back(static_cast<char>(length * 37));
  }
}

BucketKey subject_key(const KeyEncoder& encoder, const std::vector<std::string>& values) {
  SipHash hash = encoder.seed("rule", Algorithm::token_bucket);
  for (const auto& value : values) KeyEncoder::add_value(hash, value);
  return hash.finish();
}

TEST(KeyEncoder, NoDelimiterGameMakesTwoSubjectsOne) {
  const KeyEncoder encoder(counting_key());
  EXPECT_NE(subject_key(encoder, {"ab", "c"}), subject_key(encoder, {"a", "bc"}));
  EXPECT_NE(subject_key(encoder, {"a:b"}), subject_key(encoder, {"a", "b"}));
  EXPECT_NE(subject_key(encoder, {"", "a"}), subject_key(encoder, {"a", ""}));
  EXPECT_NE(subject_key(encoder, {std::string("a\0", 2)}), subject_key(encoder, {"a"}));
  EXPECT_NE(subject_key(encoder, {"a", ""}), subject_key(encoder, {"a"}));
}

TEST(KeyEncoder, RuleAlgorithmAndSecretAllChangeTheKey) {
  const KeyEncoder encoder(counting_key());
  HashKey other_key = counting_key();
  other_key[3] ^= 1;
  SipHash a = encoder.seed("rule", Algorithm::token_bucket);
  SipHash b = encoder.seed("rule", Algorithm::gcra);
  SipHash c = encoder.seed("rule2", Algorithm::token_bucket);
  SipHash d = KeyEncoder(other_key).seed("rule", Algorithm::token_bucket);
  const BucketKey first = a.finish();
  EXPECT_NE(first, b.finish());
  EXPECT_NE(first, c.finish());
  EXPECT_NE(first, d.finish());
}

TEST(KeyEncoder, RuleIdsThatDifferOnlyByPaddingDoNotCollide) {
  const KeyEncoder encoder(counting_key());
  SipHash a = encoder.seed("rule", Algorithm::gcra);
  SipHash b = encoder.seed(std::string_view("rule\0", 5), Algorithm::gcra);
  EXPECT_NE(a.finish(), b.finish());
}

TEST(KeyEncoder, FingerprintsTellKeysApartWithoutBeingTheKey) {
  HashKey other = counting_key();
  other[15] ^= 0x80;
  EXPECT_EQ(KeyEncoder(counting_key()).fingerprint(), KeyEncoder(counting_key()).fingerprint());
  EXPECT_NE(KeyEncoder(counting_key()).fingerprint(), KeyEncoder(other).fingerprint());
}

TEST(KeyEncoder, RandomKeysDiffer) { EXPECT_NE(random_hash_key(), random_hash_key()); }

}  // namespace
}  // namespace weir::identity
