// Any bytes as an HTTP/2 connection, with and without the preface in front: answered or closed, never worse, and never
// more output than the input can have asked for.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "frontends/grpc/grpc_server.h"
#include "tests/support/toy_link.h"

namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kPiece = 97;  // so that frames arrive in pieces

weir::grpc::GrpcOptions options_with_a_clock() {
  weir::grpc::GrpcOptions options;
  options.clock = std::make_shared<weir::ManualClock>();
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static weir::grpc::ToyLimiter limiter;
  static const auto factory = weir::grpc::grpc_protocols(limiter, options_with_a_clock());
  limiter.asked.clear();
  const auto link = std::make_shared<weir::grpc::ToyLink>();
  const auto protocol = factory(*link);
  std::string input;
  if ((data[0] & 1) == 0) input = kPreface;
  input.append(reinterpret_cast<const char*>(data + 1), size - 1);
  // What is not consumed is offered again with the next piece after it, as a connection does.
  std::size_t consumed = 0;
  for (std::size_t end = kPiece; consumed < input.size() && !link->closed(); end += kPiece) {
    consumed += protocol->on_bytes(std::string_view(input).substr(0, end).substr(consumed));
    if (end >= input.size()) break;
  }
  link->run_timers(std::chrono::hours(1));
  // An answer is at most a few hundred bytes for the nine that a frame takes.
  if (link->output().size() > 4096 + input.size() * 128) __builtin_trap();
  return 0;
}
