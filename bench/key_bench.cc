// 100,000 API keys in memory: bytes per key, and nanoseconds of CPU to look one up. One JSON object a line for
// bench/run.py.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "server/key_directory.h"

namespace weir::bench {
namespace {

constexpr std::size_t kKnownKeys = 100'000;
constexpr int kRounds = 9;

double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

std::size_t allocated() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run_keys() {
  const auto hasher = std::make_shared<const control::KeyHasher>("a secret of this bench");
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kKnownKeys; ++i) keys.push_back(control::make_api_key());
  const std::size_t before = allocated();
  std::vector<std::shared_ptr<const control::KeyRecord>> made;
  made.reserve(kKnownKeys);
  for (std::size_t i = 0; i < kKnownKeys; ++i) {
    const auto added = std::make_shared<control::KeyRecord>();
    control::KeyRecord& record = *added;
    record.id = "key_" + std::to_string(100'000'000'000 + i);
    record.name = "ci";
    record.prefix = keys[i].substr(0, control::kKeyPrefix);
    record.hash = hasher->hash(keys[i]);
    record.tenant = "tenant-" + std::to_string(i / 10);
    record.attributes = {{"team", "blue"}};
    record.actor = "ada";
    record.use = std::make_shared<UseMark>(record.id);
    made.push_back(added);
  }
  const auto records = std::make_shared<const control::RecordList<control::KeyRecord>>(std::move(made));
  server::LiveKeys live;
  live.set(records, hasher);
  const std::size_t bytes = allocated() - before;
  std::vector<double> found;
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_ns();
    std::size_t known = 0;
    for (std::size_t i = 0; i < kKnownKeys; ++i) {
      known += live.current()->find(keys[i * 7'919 % kKnownKeys]) ? 1 : 0;
    }
    found.push_back((cpu_ns() - start) / kKnownKeys);
    if (known != kKnownKeys) return 1;
  }
  std::printf("{\"name\":\"keys.bytes_per_key\",\"unit\":\"bytes\",\"value\":%.0f}\n",
              static_cast<double>(bytes) / kKnownKeys);
  std::printf("{\"name\":\"keys.look_up\",\"unit\":\"ns\",\"value\":%.1f}\n", median_of(found));
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main() { return weir::bench::run_keys(); }
