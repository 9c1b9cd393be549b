// FakeServer: speaks enough of the Redis protocol to be taken for a server, and answers when and what the test says.
//
// Script calls are kept in order; the test decides how many of them are answered, and with what. Other commands are
// answered at once, with +OK unless the test says otherwise. Runs on a thread of its own; may be asked from any thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weir::redis::testing {

// A script's answer for one charge.
std::string outcome_text(std::int64_t verdict, std::int64_t remaining, std::int64_t retry = 0, std::int64_t reset = 0,
                         std::int64_t delay = 0);

class FakeServer {
 public:
  FakeServer();
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  // What another command, such as "AUTH", is answered with from now on; empty: with nothing.
  void set_reply(const std::string& command, std::string text);
  // Ends the connections that are open now.
  void hang_up();
  // The commands that have arrived, script calls left out, in their order.
  std::vector<std::string> commands();

  // What script calls are answered with from now on. At first: admitted, one unit left.
  void set_answer(std::string text);
  // Answers the next `count` script calls, those that have arrived and those that will. Without a call of it, none.
  void release(std::size_t count);
  void release_all() { release(kAll); }
  // The keys of the script calls that have arrived, in their order.
  std::vector<std::string> keys();
  std::size_t arrived() { return keys().size(); }

 private:
  static constexpr std::size_t kAll = 1'000'000'000;
  class Session;
  void accept();
  void answer_released();

  std::mutex mutex_;
  std::string answer_ = outcome_text(1, 1);
  std::size_t released_ = 0;
  std::vector<std::string> keys_;
  std::map<std::string, std::string, std::less<>> replies_;
  std::vector<std::string> commands_;

  boost::asio::io_context loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::weak_ptr<Session>> sessions_;  // only on the thread
  std::thread thread_;
};

}  // namespace weir::redis::testing
