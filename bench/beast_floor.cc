// A Boost.Beast server that answers a constant: what the same answer costs in the usual way.
//
//   beast_floor PORT THREADS
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr char kBody[] =
    R"({"allowed":true,"reason":"ok","rule":"search-per-key","algorithm":"token-bucket","limit":120,"remaining":119,)"
    R"("retry_after_ms":0,"reset_after_ms":500,"cost":1,"delay_ms":0,"degraded":false,"source":"memory",)"
    R"("shadow_denied":[],"rules":[{"rule":"search-per-key","algorithm":"token-bucket","mode":"enforce",)"
    R"("allowed":true,"limit":120,"remaining":119,"retry_after_ms":0,"reset_after_ms":500}]})";

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    request_ = {};
    http::async_read(socket_, buffer_, request_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error) self->write();
    });
  }

 private:
  void write() {
    response_ = {};
    response_.version(request_.version());
    response_.result(http::status::ok);
    response_.set(http::field::content_type, "application/json");
    response_.set(http::field::cache_control, "no-store");
    response_.set("RateLimit-Policy", "\"search-per-key\";q=120;w=60");
    response_.set("RateLimit", "\"search-per-key\";r=119;t=1");
    response_.keep_alive(request_.keep_alive());
    response_.body() = kBody;
    response_.prepare_payload();
    http::async_write(socket_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error && self->request_.keep_alive()) self->read();
    });
  }

  tcp::socket socket_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](beast::error_code error, tcp::socket socket) {
    if (!error) {
      socket.set_option(tcp::no_delay(true));
      std::make_shared<Session>(std::move(socket))->read();
    }
    accept(acceptor);
  });
}

void serve(unsigned short port) {
  asio::io_context io(1);
  tcp::acceptor acceptor(io);
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  acceptor.open(endpoint.protocol());
  acceptor.set_option(asio::socket_base::reuse_address(true));
  const int on = 1;
  setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  acceptor.bind(endpoint);
  acceptor.listen();
  accept(acceptor);
  io.run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: beast_floor PORT THREADS\n", stderr);
    return 2;
  }
  const auto port = static_cast<unsigned short>(std::atoi(argv[1]));
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, std::atoi(argv[2])); ++i) threads.emplace_back(serve, port);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
