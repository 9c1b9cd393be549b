// Any bytes as a file of learned estimates, and, when the first byte is odd, as the sketches of one whose frame and
// checksum are right: refused with nothing learned, or loaded, and then every estimate is within its bounds.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/estimates.h"
#include "server/estimate_file.h"
#include "stores/memory/crc64.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory_file.h"

namespace {

using namespace weir;
using fuzz::expect;

constexpr BucketKey kKeyId = {1, 2};
constexpr std::size_t kRecord = 16 + 2 * engine::QuantileSketch::kSizes;

void put_word(std::string& out, std::uint64_t word) { out.append(reinterpret_cast<const char*>(&word), sizeof(word)); }

// A whole file with these sketches; what is left over of the bytes is not part of it.
std::string framed(std::string_view sketches) {
  std::string file = "WEIRESTM";
  put_word(file, 1);
  file.append(reinterpret_cast<const char*>(&kKeyId), sizeof(kKeyId));
  const std::size_t count = sketches.size() / kRecord;
  put_word(file, count);
  file += sketches.substr(0, count * kRecord);
  memory::Crc64 sum;
  sum.update(std::as_bytes(std::span(file.data(), file.size())));
  put_word(file, sum.value());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const fuzz::MemoryFile file(data[0] % 2 == 0 ? std::string(bytes) : framed(bytes));
  engine::Estimates estimates;
  const Result<std::size_t> loaded = server::read_estimates(file.path(), kKeyId, estimates);
  const std::size_t learned = estimates.learned().size();
  if (!loaded.ok()) {
    expect(learned == 0);
    return 0;
  }
  expect(learned <= loaded.value());
  for (const engine::Estimates::Learned& each : estimates.learned()) {
    for (const int quantile : {1, 50, 95, 100}) {
      const auto units = estimates.quantile({each.key, each.key}, quantile);
      expect(!units || (*units >= 0 && *units <= kMaxUnits));
    }
  }
  return 0;
}
