// spop_server <address:port> <rules.yaml>: the SPOP agent alone, on one loop and the memory store, for the tests with a
// real HAProxy. Prints where it listens; ends on SIGTERM.
#include <csignal>
#include <cstdio>
#include <memory>

#include "frontends/spop/spop_protocol.h"
#include "frontends/transport/loops.h"
#include "weir/limiter.h"

int main(int argc, char** argv) {
  using namespace weir;
  if (argc != 3) return std::fprintf(stderr, "usage: %s address:port rules.yaml\n", argv[0]), 2;
  Result<std::unique_ptr<Limiter>> limiter = Limiter::open(argv[2]);
  if (!limiter.ok()) return std::fprintf(stderr, "%s\n", limiter.failure().message.c_str()), 1;
  const Result<transport::Endpoint> endpoint = transport::parse_endpoint(argv[1]);
  if (!endpoint.ok()) return std::fprintf(stderr, "%s\n", endpoint.failure().message.c_str()), 2;

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  transport::Loops loops(1);
  transport::ListenOptions listen;
  listen.endpoint = endpoint.value();
  listen.protocols = [&](std::size_t) -> transport::ProtocolFactory {
    return [&](transport::Link& link) { return std::make_unique<spop::SpopProtocol>(link, *limiter.value()); };
  };
  const Result<transport::Endpoint> bound = loops.listen(listen);
  if (!bound.ok()) return std::fprintf(stderr, "%s\n", bound.failure().message.c_str()), 1;
  loops.start();
  std::printf("%s\n", bound.value().text().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  loops.drain(std::chrono::seconds(5));
  return 0;
}
