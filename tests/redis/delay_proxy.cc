#include "tests/redis/delay_proxy.h"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <memory>

namespace weir::redis::testing {

using boost::asio::ip::tcp;
using boost::system::error_code;

// One connection through the proxy: two directions, each read, held back and written in turn.
class DelayProxy::Link : public std::enable_shared_from_this<Link> {
 public:
  Link(DelayProxy& proxy, tcp::socket client)
      : proxy_(proxy), ends_{std::move(client), tcp::socket(proxy.loop_)}, timer_(proxy.loop_) {}

  void start() {
    error_code error;
    ends_[1].connect(proxy_.server_, error);
    if (error) return;
    relay(0);
    relay(1);
  }

 private:
  void relay(std::size_t from) {
    ends_[from].async_read_some(boost::asio::buffer(bytes_[from]), [self = shared_from_this(), this, from](
                                                                       const error_code& error, std::size_t size) {
      if (error) return close();
      if (from == 0) return forward(from, size);
      timer_.expires_after(std::chrono::milliseconds(proxy_.delay_ms_));
      timer_.async_wait([self, this, from, size](const error_code&) { forward(from, size); });
    });
  }

  void forward(std::size_t from, std::size_t size) {
    boost::asio::async_write(ends_[1 - from], boost::asio::buffer(bytes_[from], size),
                             [self = shared_from_this(), this, from](const error_code& error, std::size_t) {
                               if (error) return close();
                               relay(from);
                             });
  }

  void close() {
    error_code ignored;
    for (tcp::socket& end : ends_) end.close(ignored);
  }

  DelayProxy& proxy_;
  tcp::socket ends_[2];
  std::array<char, 65536> bytes_[2];
  boost::asio::steady_timer timer_;
};

DelayProxy::DelayProxy(std::uint16_t server_port)
    : acceptor_(loop_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
      server_(boost::asio::ip::address_v4::loopback(), server_port) {
  accept();
  thread_ = std::thread([this] { loop_.run(); });
}

DelayProxy::~DelayProxy() {
  loop_.stop();
  thread_.join();
}

void DelayProxy::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket client) {
    if (error) return;
    std::make_shared<Link>(*this, std::move(client))->start();
    accept();
  });
}

}  // namespace weir::redis::testing
