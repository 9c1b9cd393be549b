// Any bytes at all, cut anywhere, into the SPOP agent, before and after its handshake: no crash, the same answers as in
// one piece, and no frame longer than was agreed. The first byte chooses the cut and whether a greeting is put in
// front.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "frontends/spop/spop_protocol.h"
#include "tests/resp/recording_link.h"

namespace {

using namespace weir::frontends;

std::string greeting() {
  std::string out;
  const std::size_t begun = spop::begin_frame(out, spop::FrameType::haproxy_hello, 0, 0);
  spop::put_string(out, "supported-versions");
  spop::put_text_value(out, "2.0");
  spop::put_string(out, "max-frame-size");
  spop::put_uint32_value(out, spop::kMaxFrameBytes);
  spop::put_string(out, "capabilities");
  spop::put_text_value(out, "pipelining");
  spop::end_frame(out, begun);
  return out;
}

std::unique_ptr<weir::Limiter> make_limiter() {
  weir::Rule rule;
  rule.id = "per-ip";
  rule.per = {"ip"};
  rule.allowance.limit = 2;
  rule.allowance.window = std::chrono::seconds(10);
  weir::Rules rules;
  rules.rules.push_back(rule);
  weir::LimiterOptions options;
  options.clock = std::make_shared<weir::ManualClock>();
  options.memory.max_bytes = std::size_t{1} << 20;
  return std::move(weir::Limiter::create(rules, options)).value();
}

std::string run(std::string_view bytes, std::size_t step) {
  const std::unique_ptr<weir::Limiter> limiter = make_limiter();
  RecordingLink link;
  link.output_limit = std::size_t{64} << 20;
  spop::SpopProtocol protocol(link, *limiter);
  std::size_t start = 0;
  for (std::size_t end = 0; end < bytes.size() && !link.closed();) {
    end = std::min(bytes.size(), end + step);
    start += protocol.on_bytes(bytes.substr(start, end - start));
    if (start > end) std::abort();
  }
  return link.sent;
}

void expect_whole_frames(std::string_view sent) {
  while (!sent.empty()) {
    std::uint32_t size = 0;
    if (!spop::Cursor(sent).uint32(size)) std::abort();
    if (size > spop::kMaxFrameBytes || sent.size() < spop::kLengthBytes + size) std::abort();
    sent.remove_prefix(spop::kLengthBytes + size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] / 2;
  const std::string bytes =
      (data[0] % 2 == 1 ? greeting() : "") + std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = run(bytes, std::max<std::size_t>(1, bytes.size()));
  expect_whole_frames(whole);
  if (run(bytes, step) != whole) std::abort();
  return 0;
}
