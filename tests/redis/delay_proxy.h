// DelayProxy: sits between a store and a server and delays the server's replies, for tests of slow networks.
//
// Runs on a thread of its own; the delay may be changed at any time from any thread.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace weir::redis::testing {

class DelayProxy {
 public:
  explicit DelayProxy(std::uint16_t server_port);
  ~DelayProxy();
  DelayProxy(const DelayProxy&) = delete;
  DelayProxy& operator=(const DelayProxy&) = delete;

  std::string url() const { return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  void set_delay(std::chrono::milliseconds delay) { delay_ms_ = delay.count(); }

 private:
  class Link;
  void accept();

  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  const boost::asio::ip::tcp::endpoint server_;
  std::atomic<std::int64_t> delay_ms_{0};
  std::thread thread_;
};

}  // namespace weir::redis::testing
