// resp_server <address:port | unix:/path> [rules.yaml] [password]: the Redis protocol alone, on one loop and the
// memory store, for the tests with real clients and for the bench. Prints where it listens; ends on SIGTERM.
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "frontends/transport/loops.h"
#include "weir/limiter.h"

int main(int argc, char** argv) {
  using namespace weir;
  if (argc < 2) return std::fprintf(stderr, "usage: %s address:port [rules.yaml] [password]\n", argv[0]), 2;
  const std::string rules = argc > 2 ? argv[2] : "";
  Result<std::unique_ptr<Limiter>> limiter = rules.empty() ? Limiter::create({}) : Limiter::open(rules);
  if (!limiter.ok()) return std::fprintf(stderr, "%s\n", limiter.failure().message.c_str()), 1;
  const Result<transport::Endpoint> endpoint = transport::parse_endpoint(argv[1]);
  if (!endpoint.ok()) return std::fprintf(stderr, "%s\n", endpoint.failure().message.c_str()), 2;

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  resp::RespOptions options;
  options.password = argc > 3 ? argv[3] : "";
  options.version = "test";
  resp::RespService service(options);
  transport::Loops loops(1);
  transport::ListenOptions listen;
  listen.endpoint = endpoint.value();
  listen.protocols = [&](std::size_t) -> transport::ProtocolFactory {
    return [&](transport::Link& link) { return service.serve(link, *limiter.value()); };
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
