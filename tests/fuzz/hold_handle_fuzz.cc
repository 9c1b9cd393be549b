// Any bytes as a handle of a lease or a reservation: as the text that a caller sends, which no one can forge, and, when
// the first byte is odd, as what a seal was put on, which is read within its bounds and written again as it was read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/hold_handle.h"
#include "engine/hold_ids.h"
#include "tests/fuzz/expect.h"
#include "weir/hold.h"

namespace {

using namespace weir;
using namespace weir::engine;
using fuzz::expect;

constexpr HashKey kKey = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
// Seals nothing: the fuzzer sees what texts are compared with, and so learns handles that were really sealed.
constexpr HashKey kOtherKey = {7, 7, 7};

void expect_bounds(const HoldHandle& handle) {
  expect(handle.charges.size() <= kMaxHeldCharges);
  expect(handle.ttl >= kMinHoldTtl && handle.ttl <= kMaxHoldTtl);
  expect(micros(handle.expires) >= 0 && micros(handle.expires) <= std::int64_t{1} << 53);
  for (const HeldCharge& charge : handle.charges) {
    expect(charge.cost >= 0 && charge.cost <= kMaxUnits);
    expect(charge.allowance.limit >= 0 && charge.allowance.limit <= kMaxUnits);
    expect(charge.kind != ChargeKind::lease || charge.allowance.limit <= kMaxConcurrency);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  static HoldIds ids(kKey);
  HandleBytes kept;
  if (data[0] % 2 == 0) {
    static HoldIds strangers(kOtherKey);
    for (const auto use : {HoldHandle::Use::lease, HoldHandle::Use::reservation}) {
      HoldHandle none;
      expect(!strangers.open(bytes, use, kept, none));
    }
    return 0;
  }
  HoldHandle handle;
  if (!decode_handle(bytes, handle)) return 0;
  expect_bounds(handle);
  const std::string sealed = ids.seal(handle);
  // Of many charges with long names it may be too long for a path, and is refused then. Once as one that was sealed
  // lately, once as another node would.
  static HoldIds others(kKey);
  for (HoldIds* const each : {&ids, &others}) {
    HoldHandle opened;
    const bool known = each->open(sealed, handle.use, kept, opened);
    expect(known || sealed.size() > kMaxHandle);
    char first[kMaxEncodedHandle];
    char second[kMaxEncodedHandle];
    if (known) expect(encode_handle(opened, first) == encode_handle(handle, second));
  }
  return 0;
}
