// Any text as weir.yaml, as the address of a Redis store and as a Retry-After: refused, or within bounds, and no
// password in a message. The first byte chooses which.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/config_file.h"
#include "stores/redis/url.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory_file.h"
#include "weir/retry.h"

namespace {

using weir::fuzz::expect;

void read_config(std::string_view text) {
  const weir::fuzz::MemoryFile file(text);
  const auto entries = weir::server::read_config_file(file.path());
  if (!entries.ok()) {
    expect(!entries.failure().message.empty());
    return;
  }
  for (const auto& entry : entries.value()) expect(!entry.place.empty() && (entry.list || entry.texts.size() <= 1));
}

void read_store(std::string_view text) {
  const auto options = weir::redis::parse_redis_url(text);
  if (options.ok()) {
    expect(!options.value().seeds.empty() && options.value().connections <= weir::redis::kMaxConnections);
    expect(options.value().max_in_flight <= weir::redis::kMaxInFlight && options.value().deadline.count() > 0);
  }
  // A password is not repeated, whatever follows it or, not escaped, is in it. The fuzzer finds out the word itself.
  constexpr std::string_view kPassword = "hunter2XYZ";
  if (text.find(kPassword) != std::string_view::npos) return;
  const std::string begun = "redis://u:" + std::string(kPassword);
  for (const std::string& url : {begun + "@" + std::string(text), begun + std::string(text) + "@h:1"}) {
    const auto guarded = weir::redis::parse_redis_url(url);
    if (!guarded.ok()) expect(guarded.failure().message.find(kPassword) == std::string::npos);
  }
}

void read_retry_after(std::string_view text) {
  const std::chrono::sys_seconds now{std::chrono::seconds(1'794'744'000)};
  if (const auto wait = weir::parse_retry_after(text, now)) {
    expect(wait->count() >= 0 && wait->count() <= weir::retry_detail::kMaxSeconds * 1000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_config(text);
      break;
    case 1:
      read_store(text);
      break;
    default:
      read_retry_after(text);
  }
  return 0;
}
