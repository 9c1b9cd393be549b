// A gRPC server on the real engine, for clients in other languages: `grpc_test_server RULES [PORT]` prints the port it
// took and serves until standard input ends, then drains.
#include <cstdlib>
#include <iostream>
#include <string>

#include "frontends/grpc/grpc_server.h"
#include "frontends/transport/loops.h"
#include "weir/limiter.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: grpc_test_server RULES [PORT]\n";
    return 2;
  }
  auto limiter = weir::Limiter::open(argv[1]);
  if (!limiter.ok()) {
    std::cerr << limiter.failure().message << '\n';
    return 1;
  }
  auto endpoint = weir::transport::parse_endpoint(std::string("127.0.0.1:") + (argc > 2 ? argv[2] : "0"));
  if (!endpoint.ok()) {
    std::cerr << endpoint.failure().message << '\n';
    return 1;
  }
  weir::transport::Loops loops(1);
  weir::transport::ListenOptions listen;
  listen.endpoint = endpoint.value();
  listen.protocols = [&](std::size_t) { return weir::grpc::grpc_protocols(*limiter.value(), {}); };
  const auto bound = loops.listen(listen);
  if (!bound.ok()) {
    std::cerr << bound.failure().message << '\n';
    return 1;
  }
  loops.start();
  std::cout << bound.value().port << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  loops.drain(std::chrono::seconds(2));
  return 0;
}
