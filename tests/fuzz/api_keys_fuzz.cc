// Any bytes as the list of revoked keys and as the file of hash keys: refused, or every line of the list is revoked,
// by itself and by its hash, and a key that is not listed is not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/content_lines.h"
#include "identity/api_keys.h"
#include "keys/key_ring.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::identity;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryFile file(text);
  if (const auto ring = keys::load_key_ring(file.path()); !ring.ok()) fuzz::expect(!ring.failure().message.empty());
  keys::KeyRing ring;
  ring.previous.emplace().fill(1);
  const Result<ApiKeys> loaded = ApiKeys::load(ring, file.path());
  if (!loaded.ok()) return 0;
  for (const std::string_view line : base::content_lines(text)) fuzz::expect(loaded.value().is_revoked(line));
  fuzz::expect(!loaded.value().is_revoked("a key that the fuzzer would have to guess \x01\x02 5d41402abc4b2a76"));
  return 0;
}
