// The floor under /v1/check: our loops, connections and HTTP parser, with a constant for an answer. What a check costs
// beyond this is JSON, rules, store and rendering.
//
//   http_floor PORT THREADS
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "frontends/http/request_parser.h"
#include "frontends/transport/loops.h"

namespace {

// As long as a real answer with one rule, header fields included.
std::string constant_answer() {
  const std::string body =
      R"({"allowed":true,"reason":"ok","rule":"search-per-key","algorithm":"token-bucket","limit":120,"remaining":119,)"
      R"("retry_after_ms":0,"reset_after_ms":500,"cost":1,"delay_ms":0,"degraded":false,"source":"memory",)"
      R"("shadow_denied":[],"rules":[{"rule":"search-per-key","algorithm":"token-bucket","mode":"enforce",)"
      R"("allowed":true,"limit":120,"remaining":119,"retry_after_ms":0,"reset_after_ms":500}]})";
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nCache-Control: no-store\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nRateLimit-Policy: "
         "\"search-per-key\";q=120;w=60\r\n"
         "RateLimit: \"search-per-key\";r=119;t=1\r\n\r\n" +
         body;
}

class ConstantProtocol final : public weir::transport::Protocol {
 public:
  ConstantProtocol(weir::transport::Link& link, const std::string& answer)
      : link_(link), answer_(answer), parser_(weir::http::HttpLimits{}) {}

  std::size_t on_bytes(std::string_view bytes) override {
    using State = weir::http::RequestParser::State;
    std::size_t used = 0;
    while (used < bytes.size() && !link_.congested()) {
      State state = parser_.parse(bytes.substr(used));
      if (state == State::head) {
        parser_.allow_body(weir::http::HttpLimits{}.body_bytes);
        state = parser_.parse(bytes.substr(used));
      }
      if (state == State::need_more) break;
      if (state == State::failed) {
        link_.close();
        return bytes.size();
      }
      link_.output() += answer_;
      used += parser_.consumed();
      parser_.reset();
    }
    return used;
  }
  bool idle() const override { return !parser_.begun(); }
  void on_drain() override { link_.close(); }

 private:
  weir::transport::Link& link_;
  const std::string& answer_;
  weir::http::RequestParser parser_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: http_floor PORT THREADS\n", stderr);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const std::string answer = constant_answer();
  const auto endpoint = weir::transport::parse_endpoint(std::string("127.0.0.1:") + argv[1]);
  if (!endpoint.ok()) {
    std::fprintf(stderr, "%s\n", endpoint.failure().message.c_str());
    return 2;
  }
  weir::transport::Loops loops(static_cast<std::size_t>(std::max(1, std::atoi(argv[2]))));
  const auto bound = loops.listen({.endpoint = endpoint.value(),
                                   .limits = {},
                                   .protocols =
                                       [&](std::size_t) {
                                         return [&](weir::transport::Link& link) {
                                           return std::make_unique<ConstantProtocol>(link, answer);
                                         };
                                       },
                                   .tls = nullptr});
  if (!bound.ok()) {
    std::fprintf(stderr, "%s\n", bound.failure().message.c_str());
    return 1;
  }
  loops.start();
  std::printf("listening on %s\n", bound.value().text().c_str());
  std::fflush(stdout);
  int received = 0;
  sigwait(&signals, &received);
  loops.stop();
  return 0;
}
