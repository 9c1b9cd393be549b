// Any bytes at all, cut anywhere, into the Redis protocol: no crash, no answer that is not one, and the same answers
// as in one piece. The first byte chooses the cut and whether a password is wanted.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "tests/support/recording_link.h"

namespace {

using namespace weir::transport;
namespace resp = weir::resp;

std::string run(weir::Limiter& limiter, const resp::RespOptions& options, std::string_view bytes, std::size_t step) {
  RecordingLink link;
  link.output_limit = std::size_t{64} << 20;
  resp::RespProtocol protocol(link, limiter, options, 1);
  std::size_t start = 0;
  for (std::size_t end = 0; end < bytes.size() && !link.closed();) {
    end = std::min(bytes.size(), end + step);
    start += protocol.on_bytes(bytes.substr(start, end - start));
    if (start > end) std::abort();
  }
  return link.sent;
}

// Time does not advance, and each run has buckets of its own, so that equal input means equal answers.
std::unique_ptr<weir::Limiter> make_limiter() {
  weir::LimiterOptions options;
  options.clock = std::make_shared<weir::ManualClock>();
  options.memory.max_bytes = std::size_t{1} << 20;
  return std::move(weir::Limiter::create({}, options)).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  resp::RespOptions options;
  if (data[0] % 2 == 1) options.password = "secret";
  const std::size_t step = 1 + data[0] / 2;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = run(*make_limiter(), options, bytes, std::max<std::size_t>(1, bytes.size()));
  if (run(*make_limiter(), options, bytes, step) != whole) std::abort();
  return 0;
}
