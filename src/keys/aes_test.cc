#include "keys/aes.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weir::keys {
namespace {

using Key = std::array<std::uint8_t, 16>;

std::vector<AesBlock> encrypted_by_openssl(const Key& key, const std::vector<AesBlock>& blocks) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                &EVP_CIPHER_CTX_free);
  std::vector<AesBlock> out(blocks.size() + 1);
  int size = 0;
  EVP_EncryptInit_ex(context.get(), EVP_aes_128_ecb(), nullptr, key.data(), nullptr);
  EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                    reinterpret_cast<const unsigned char*>(blocks.data()),
                    static_cast<int>(blocks.size() * sizeof(AesBlock)));
  out.resize(blocks.size());
  return out;
}

// Appendix C.1 of FIPS 197.
TEST(Aes128, EncryptsTheExampleOfTheStandard) {
  Key key;
  std::uint8_t plain[16];
  for (std::uint8_t i = 0; i < 16; ++i) {
    key[i] = i;
    plain[i] = static_cast<std::uint8_t>(i * 0x11);
  }
  constexpr std::uint8_t kExpected[16] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                          0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
  AesBlock block;
  std::memcpy(&block, plain, sizeof(plain));
  for (const Aes128::Instructions use : {Aes128::Instructions::if_possible, Aes128::Instructions::none}) {
    const AesBlock made = Aes128(key, use).encrypt(block);
    EXPECT_EQ(std::memcmp(&made, kExpected, sizeof(kExpected)), 0);
  }
}

TEST(Aes128, SumsAndStreamsAreMadeOfTheBlocksThatOpenSslMakes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::size_t size = 0; size < 300; ++size) {
    Key key;
    for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(random());
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(random());
    bytes.append(32, '\0');

    std::vector<AesBlock> numbered;
    for (std::size_t at = 0; at < size; at += Aes128::kBytesPerNumber) {
      char block[16] = {static_cast<char>(numbered.size())};
      std::memcpy(block + 2, bytes.data() + at, std::min(size - at, Aes128::kBytesPerNumber));
      std::memcpy(&numbered.emplace_back(), block, sizeof(block));
    }
    AesBlock sum;
    for (const AesBlock& each : encrypted_by_openssl(key, numbered)) sum = sum ^ each;

    const AesBlock first{random(), random()};
    std::vector<AesBlock> counted;
    for (std::uint64_t i = 0; i < (size + 15) / 16; ++i) counted.push_back({first.low ^ i, first.high});
    std::string streamed = bytes;
    std::size_t at = 0;
    for (const AesBlock& each : encrypted_by_openssl(key, counted)) {
      for (std::size_t i = 0; i < 16; ++i, ++at) streamed[at] ^= reinterpret_cast<const char*>(&each)[i];
    }
    for (const Aes128::Instructions use : {Aes128::Instructions::if_possible, Aes128::Instructions::none}) {
      const Aes128 aes(key, use);
      EXPECT_EQ(aes.sum_of(bytes.data(), size), sum) << size;
      std::string own = bytes;
      aes.apply_stream(first, own.data(), size);
      EXPECT_EQ(own, streamed) << size;
    }
  }
}

}  // namespace
}  // namespace weir::keys
