// A client's steps, chosen by the fuzzer's bytes, against FramedSession and against nghttp2: the same events and the
// same end. session_script.h says which steps there are.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/fuzz/expect.h"
#include "tests/support/session_script.h"

namespace {

constexpr weir::http2::SessionLimits kLimits{.streams = 10'000};
constexpr int kMostSteps = 200;

weir::http2::FloodGuard guard() { return weir::http2::FloodGuard(std::make_shared<weir::ManualClock>()); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weir::fuzz::expect;
  std::size_t at = 0;
  // Two bytes for each choice; only zeros after the last.
  const auto pick = [&](std::uint64_t most) -> std::uint64_t {
    std::uint64_t number = 0;
    for (int i = 0; i < 2; ++i) number = number << 8 | (at < size ? data[at++] : 0);
    return number % most;
  };
  weir::http2::Script script(pick);
  weir::http2::Recorder framed(
      [](weir::http2::Events& events) { return weir::http2::make_session(events, kLimits, guard()); });
  weir::http2::Recorder oracle([](weir::http2::Events& events) {
    return std::make_unique<weir::http2::Nghttp2Oracle>(events, kLimits, guard());
  });
  framed.receive(weir::http2::Script::greeting());
  oracle.receive(weir::http2::Script::greeting());
  for (int step = 0; step < kMostSteps && at < size && !oracle.finished(); ++step) {
    const std::string bytes = script.step();
    framed.receive(bytes);
    oracle.receive(bytes);
    expect(framed.log == oracle.log);
    expect(framed.goaways == oracle.goaways);
    expect(framed.last_served == oracle.last_served);
    expect(framed.finished() == oracle.finished());
    if (!oracle.finished()) expect(framed.closed == oracle.closed);
  }
  return 0;
}
