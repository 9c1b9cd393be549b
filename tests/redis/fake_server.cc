#include "tests/redis/fake_server.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "stores/redis/resp.h"

namespace weir::redis::testing {

using boost::asio::ip::tcp;
using boost::system::error_code;

std::string outcome_text(std::int64_t verdict, std::int64_t remaining, std::int64_t retry, std::int64_t reset,
                         std::int64_t delay) {
  std::string text = "*5\r\n";
  for (const std::int64_t number : {verdict, remaining, retry, reset, delay})
    text += ":" + std::to_string(number) + "\r\n";
  return text;
}

class FakeServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(FakeServer& server, tcp::socket socket) : server_(server), socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(boost::asio::buffer(bytes_),
                            [self = shared_from_this(), this](const error_code& error, std::size_t size) {
                              if (error) return;
                              reader_.add({bytes_.data(), size});
                              while (reader_.next() == ReplyReader::Progress::complete) take(reader_.reply());
                              answer_released();
                              read();
                            });
  }

  void hang_up() {
    error_code ignored;
    socket_.close(ignored);
  }

  void answer_released() {
    std::string out;
    {
      const std::lock_guard lock(server_.mutex_);
      for (; owed_ > 0 && server_.released_ > 0; --owed_, --server_.released_) out += server_.answer_;
    }
    write(out);
  }

 private:
  // A command is an array of words, which is how an answer would look too.
  void take(Reply command) {
    const bool script = command[1].text == "EVALSHA" || command[1].text == "EVAL";
    if (!script) return write(reply_to(command[1].text));
    ++owed_;
    const std::lock_guard lock(server_.mutex_);
    server_.keys_.emplace_back(command[4].text);
  }
  std::string reply_to(std::string_view command) {
    const std::lock_guard lock(server_.mutex_);
    server_.commands_.emplace_back(command);
    const auto found = server_.replies_.find(command);
    return found != server_.replies_.end() ? found->second : "+OK\r\n";
  }
  void write(const std::string& text) {
    error_code ignored;
    if (!text.empty()) boost::asio::write(socket_, boost::asio::buffer(text), ignored);
  }

  FakeServer& server_;
  tcp::socket socket_;
  std::array<char, 65536> bytes_;
  ReplyReader reader_;
  std::size_t owed_ = 0;
};

FakeServer::FakeServer() : acceptor_(loop_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
  accept();
  thread_ = std::thread([this] { loop_.run(); });
}

FakeServer::~FakeServer() {
  loop_.stop();
  thread_.join();
}

void FakeServer::set_answer(std::string text) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(text);
}

void FakeServer::set_reply(const std::string& command, std::string text) {
  const std::lock_guard lock(mutex_);
  replies_[command] = std::move(text);
}

void FakeServer::hang_up() {
  boost::asio::post(loop_, [this] {
    for (const auto& each : std::exchange(sessions_, {})) {
      if (const auto session = each.lock()) session->hang_up();
    }
  });
}

std::vector<std::string> FakeServer::commands() {
  const std::lock_guard lock(mutex_);
  return commands_;
}

void FakeServer::release(std::size_t count) {
  {
    const std::lock_guard lock(mutex_);
    released_ += count;
  }
  boost::asio::post(loop_, [this] {
    for (const auto& each : sessions_) {
      if (const auto session = each.lock()) session->answer_released();
    }
  });
}

std::vector<std::string> FakeServer::keys() {
  const std::lock_guard lock(mutex_);
  return keys_;
}

void FakeServer::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket client) {
    if (error) return;
    const auto session = std::make_shared<Session>(*this, std::move(client));
    sessions_.push_back(session);
    session->read();
    accept();
  });
}

}  // namespace weir::redis::testing
