// resp_floor <port>: the least that a server on our transport can do for a Redis command. It finds where
// each command ends, from the number of its arguments and their lengths, looks at none of them, and answers a constant
// of the size of CL.THROTTLE's answer.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "frontends/transport/loops.h"

namespace {

using weir::transport::Link;
using weir::transport::Protocol;

constexpr std::string_view kReply = "*5\r\n:0\r\n:1000001\r\n:1000000\r\n:-1\r\n:1\r\n";

class CountingProtocol final : public Protocol {
 public:
  explicit CountingProtocol(Link& link) : link_(link) {}

  std::size_t on_bytes(std::string_view bytes) override {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t end = end_of_command(bytes, at);
      if (end == 0) break;
      link_.output() += kReply;
      at = end;
    }
    return at;
  }
  bool idle() const override { return true; }
  void on_drain() override { link_.close(); }

 private:
  static std::size_t number(std::string_view bytes, std::size_t& at) {
    std::size_t value = 0;
    while (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9') {
      value = value * 10 + static_cast<std::size_t>(bytes[at++] - '0');
    }
    at += 2;
    return value;
  }

  // Where the command that begins at `at` ends; 0 when it is not all there.
  static std::size_t end_of_command(std::string_view bytes, std::size_t at) {
    const std::size_t words = number(bytes, ++at);
    for (std::size_t i = 0; i < words; ++i) {
      if (at >= bytes.size()) return 0;
      const std::size_t size = number(bytes, ++at);
      at += size + 2;
    }
    return at <= bytes.size() ? at : 0;
  }

  Link& link_;
};

}  // namespace

int main(int argc, char** argv) {
  namespace transport = weir::transport;
  if (argc != 2) return std::fprintf(stderr, "usage: %s port\n", argv[0]), 2;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  transport::Loops loops(1);
  transport::ListenOptions options;
  options.endpoint.kind = transport::Endpoint::Kind::tcp;
  options.endpoint.host = "127.0.0.1";
  options.endpoint.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  options.protocols = [](std::size_t) -> transport::ProtocolFactory {
    return [](Link& link) { return std::make_unique<CountingProtocol>(link); };
  };
  const auto bound = loops.listen(options);
  if (!bound.ok()) return std::fprintf(stderr, "%s\n", bound.failure().message.c_str()), 1;
  loops.start();
  int signal = 0;
  sigwait(&signals, &signal);
  loops.stop();
  return 0;
}
