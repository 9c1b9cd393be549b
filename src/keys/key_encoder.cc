#include "keys/key_encoder.h"

#include <cstdlib>
#include <random>

namespace weir::keys {
namespace {
constexpr std::uint64_t kBucketVersion = 0x3177;         // "w1"
constexpr std::uint64_t kTagVersion = 0x743177;          // "w1t"
constexpr std::uint64_t kFingerprintVersion = 0x663177;  // "w1f"
constexpr std::uint64_t kAttributeVersion = 0x613177;    // "w1a"
}  // namespace

SipHash KeyEncoder::seed(std::string_view rule_id, Algorithm algorithm) const {
  return numbered_seed(rule_id, static_cast<std::uint64_t>(algorithm));
}

SipHash KeyEncoder::lease_seed(std::string_view rule_id) const {
  return numbered_seed(rule_id, std::uint64_t{kAlgorithmCount});
}

SipHash KeyEncoder::numbered_seed(std::string_view rule_id, std::uint64_t number) const {
  SipHash hash(key_);
  hash.add_word(kBucketVersion | number << 32);
  hash.add_framed(rule_id);
  return hash;
}

SipHash KeyEncoder::tag_seed() const {
  SipHash hash(key_);
  hash.add_word(kTagVersion);
  return hash;
}

SipHash KeyEncoder::attribute_seed(std::string_view name) const {
  SipHash hash(key_);
  hash.add_word(kAttributeVersion);
  hash.add_framed(name);
  return hash;
}

BucketKey KeyEncoder::fingerprint() const {
  SipHash hash(key_);
  hash.add_word(kFingerprintVersion);
  return hash.finish();
}

HashKey random_hash_key() {
  std::random_device source;  // getrandom(2) or rdrand
  HashKey key;
  for (auto& byte : key) byte = static_cast<std::uint8_t>(source());
  return key;
}

}  // namespace weir::keys
