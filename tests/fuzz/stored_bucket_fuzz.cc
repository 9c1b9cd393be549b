// Any bytes as the value of a key of Weir in Redis, which people look into: refused, or read within its bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stores/redis/stored_bucket.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t line = bytes.find('\n');
  static_cast<void>(redis::parse_bucket_name(bytes.substr(0, line)));
  const std::optional<redis::StoredBucket> bucket = redis::parse_stored_bucket(bytes);
  if (!bucket) return 0;
  fuzz::expect(bucket->used >= 0 && bucket->used_before >= 0);
  fuzz::expect(bucket->holds.size() <= kMaxHoldsPerBucket && bucket->holds.size() * 42 <= size);
  for (const redis::StoredHold& hold : bucket->holds) fuzz::expect(hold.id.size() == 32 && hold.units >= 0);
  for (const redis::StoredLease& lease : bucket->leases) fuzz::expect(lease.id.size() == 32 && lease.units >= 0);
  return 0;
}
