#include "stores/redis/scripts.h"

#include <openssl/evp.h>

#include <cassert>
#include <utility>

#include "base/ascii.h"

namespace weir::redis {
namespace {

// SHA-1 because Redis names scripts by it; nothing here depends on its strength.
std::string sha1_hex(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  assert(done == 1 && size == 20);
  std::string hex;
  for (unsigned int i = 0; i < size && done == 1; ++i) {
    base::append_hex(hex, digest[i]);
  }
  return hex;
}

}  // namespace

std::string_view script_name(std::size_t script) {
  if (script < kAlgorithmCount) return algorithm_name(static_cast<Algorithm>(script));
  constexpr std::array<std::string_view, kScriptCount - kAlgorithmCount> kOthers = {
      "several", "leases", "reservations", "several-once", "leases-once", "reservations-once"};
  return kOthers[script - kAlgorithmCount];
}

ScriptSet::ScriptSet(std::string key_prefix) : key_prefix_(std::move(key_prefix)) {
  for (std::size_t i = 0; i < kScriptCount; ++i) scripts_[i] = {kScriptBodies[i], sha1_hex(kScriptBodies[i])};
}

}  // namespace weir::redis
