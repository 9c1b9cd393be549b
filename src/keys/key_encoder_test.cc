#include "keys/key_encoder.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace weir::keys {
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

// What add_framed() feeds: the bytes, zeros up to seven bytes of the last word, the length as its eighth byte; for a
// text of 255 bytes or more, the length as a word before that one, and 255.
std::string framed(const std::string& text) {
  const std::uint64_t size = text.size();
  const std::size_t whole = text.size() / 8 * 8;
  std::string bytes = text.substr(0, whole);
  if (size >= 255) bytes.append(reinterpret_cast<const char*>(&size), 8);
  std::string last = text.substr(whole);
  last.resize(7, '\0');
  return bytes + last + static_cast<char>(size < 255 ? size : 255);
}

TEST(SipHash, AgreesWithOpensslForTextsOfEveryLength) {
  const HashKey key = counting_key();
  std::string text;
  for (int length = 0; length < 600; ++length) {
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

// What is fed can be read back from its end, so two lists are never fed alike, also when one imitates the
// length of another inside its bytes.
TEST(SipHash, WhatIsFedTellsTheTextsApart) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> texts(below(4));
    std::string fed;
    for (std::string& text : texts) {
      text.resize(below(round % 10 == 0 ? 700 : 20));
      for (char& byte : text) byte = static_cast<char>(below(3) == 0 ? below(20) : 0xff);
      fed += framed(text);
    }
    std::vector<std::string> read;
    while (!fed.empty()) {
      std::uint64_t size = static_cast<unsigned char>(fed.back());
      std::string rest = fed.substr(fed.size() - 8, 7);
      fed.resize(fed.size() - 8);
      if (size == 255) {
        std::memcpy(&size, fed.data() + fed.size() - 8, 8);
        fed.resize(fed.size() - 8);
      }
      ASSERT_LE(size / 8 * 8, fed.size());
      const std::string whole = fed.substr(fed.size() - size / 8 * 8);
      fed.resize(fed.size() - whole.size());
      read.insert(read.begin(), whole + rest.substr(0, size % 8));
    }
    ASSERT_EQ(read, texts);
  }
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

// Buckets, tags and fingerprints are found again by other nodes and by later versions, so what is hashed is fixed.
TEST(KeyEncoder, EachUseOfTheKeyBeginsWithAWordOfItsOwn) {
  const HashKey key = counting_key();
  const KeyEncoder encoder(key);
  const auto word = [](std::uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), 8); };
  const auto of = [](SipHash hash, std::string_view text) {
    hash.add_framed(text);
    return hash.finish();
  };
  EXPECT_EQ(of(encoder.seed("rule", Algorithm::token_bucket), "acme"),
            openssl_siphash(key, word(0x3177 | std::uint64_t{4} << 32) + framed("rule") + framed("acme")));
  EXPECT_EQ(of(encoder.lease_seed("rule"), "acme"),
            openssl_siphash(key, word(0x3177 | std::uint64_t{7} << 32) + framed("rule") + framed("acme")));
  EXPECT_EQ(of(encoder.tag_seed(), "acme"), openssl_siphash(key, word(0x743177) + framed("acme")));
  EXPECT_EQ(of(encoder.attribute_seed("tenant"), "acme"),
            openssl_siphash(key, word(0x613177) + framed("tenant") + framed("acme")));
  EXPECT_EQ(encoder.fingerprint(), openssl_siphash(key, word(0x663177)));
}

TEST(KeyEncoder, RandomKeysDiffer) { EXPECT_NE(random_hash_key(), random_hash_key()); }

}  // namespace
}  // namespace weir::keys
