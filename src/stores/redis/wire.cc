#include "stores/redis/wire.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <vector>

namespace weir::redis {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Endpoint = asio::generic::stream_protocol::endpoint;

class TlsSetup {
 public:
  explicit TlsSetup(const TlsOptions& options) : context_(asio::ssl::context::tls_client), verify_(options.verify) {
    context_.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
    context_.set_verify_mode(verify_ ? asio::ssl::verify_peer : asio::ssl::verify_none);
    if (options.ca_file.empty()) {
      context_.set_default_verify_paths();
    } else {
      context_.load_verify_file(options.ca_file);
    }
    if (!options.cert_file.empty()) context_.use_certificate_chain_file(options.cert_file);
    if (!options.key_file.empty()) context_.use_private_key_file(options.key_file, asio::ssl::context::pem);
  }
  asio::ssl::context& context() { return context_; }
  bool verify() const { return verify_; }

 private:
  asio::ssl::context context_;
  const bool verify_;
};

Result<std::shared_ptr<TlsSetup>> make_tls_setup(const TlsOptions& options) {
  if (!options.enabled) return std::shared_ptr<TlsSetup>();
  try {
    return std::make_shared<TlsSetup>(options);
  } catch (const std::exception& error) {
    return Failure{Code::invalid_argument, std::string("store: a TLS file cannot be used: ") + error.what()};
  }
}

namespace {

// The part that plain and TLS streams share. Handlers hold a shared_ptr to the wire and look at events_, which
// close() clears, before they report anything.
class SocketWire : public Wire, public std::enable_shared_from_this<SocketWire> {
 public:
  SocketWire(asio::io_context& loop, WireEvents& events) : loop_(loop), events_(&events), resolver_(loop) {}

  void open(const Address& address) final {
    host_ = address.host;
    if (address.port == 0) return open_unix(address);
    error_code not_numeric;
    const auto ip = asio::ip::make_address(address.host, not_numeric);
    if (!not_numeric) {
      endpoints_.emplace_back(asio::ip::tcp::endpoint(ip, address.port));
      return connect_next();
    }
    resolver_.async_resolve(address.host, std::to_string(address.port),
                            [self = shared_from_this()](const error_code& error, const auto& results) {
                              if (self->events_ == nullptr) return;
                              if (error) return self->fail(error);
                              for (const auto& entry : results) self->endpoints_.emplace_back(entry.endpoint());
                              self->connect_next();
                            });
  }

  void close() final {
    events_ = nullptr;
    resolver_.cancel();
    error_code ignored;
    socket().close(ignored);
  }

 protected:
  virtual Socket& socket() = 0;
  virtual void start_stream() = 0;

  void fail(const error_code& error) {
    if (events_ == nullptr) return;
    WireEvents* events = events_;
    close();
    events->on_broken(error.message());
  }

  asio::io_context& loop_;
  WireEvents* events_;  // null after close()
  std::string host_;

 private:
  void open_unix(const Address& address) {
    try {
      endpoints_.emplace_back(asio::local::stream_protocol::endpoint(address.host));
    } catch (const boost::system::system_error& error) {  // the path is too long for the system
      return asio::post(loop_, [self = shared_from_this(), code = error.code()] { self->fail(code); });
    }
    connect_next();
  }

  void connect_next() {
    error_code ignored;
    if (socket().is_open()) socket().close(ignored);
    socket().async_connect(endpoints_[next_endpoint_++], [self = shared_from_this()](const error_code& error) {
      if (self->events_ == nullptr) return;
      if (error && self->next_endpoint_ < self->endpoints_.size()) return self->connect_next();
      if (error) return self->fail(error);
      error_code no_tcp;  // a Unix socket has no such option
      self->socket().set_option(asio::ip::tcp::no_delay(true), no_tcp);
      self->start_stream();
    });
  }

  asio::ip::tcp::resolver resolver_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
};

template <typename Stream>
class StreamWire : public SocketWire {
 public:
  template <typename... StreamArguments>
  StreamWire(asio::io_context& loop, WireEvents& events, StreamArguments&&... arguments)
      : SocketWire(loop, events), stream_(loop, std::forward<StreamArguments>(arguments)...) {}

  void start_reading() final {
    stream_.async_read_some(asio::buffer(arrived_),
                            [self = shared_from_this(), this](const error_code& error, std::size_t bytes) {
                              if (events_ == nullptr) return;
                              if (error) return fail(error);
                              events_->on_read({arrived_.data(), bytes});
                              if (events_ != nullptr) start_reading();
                            });
  }

  bool write(std::string& bytes) final {
    leaving_.clear();
    leaving_.swap(bytes);
    const std::size_t sent = write_now(leaving_);
    if (sent == leaving_.size()) return true;
    asio::async_write(stream_, asio::buffer(leaving_) + sent,
                      [self = shared_from_this(), this](const error_code& error, std::size_t) {
                        if (events_ == nullptr) return;
                        if (error) return fail(error);
                        events_->on_written();
                      });
    return false;
  }

 protected:
  // As much as can leave without waiting. An error is left for the next write to find.
  virtual std::size_t write_now(const std::string&) { return 0; }

  Stream stream_;

 private:
  std::array<char, 16 * 1024> arrived_;
  std::string leaving_;
};

class PlainWire final : public StreamWire<Socket> {
 public:
  using StreamWire::StreamWire;

 private:
  Socket& socket() override { return stream_; }
  void start_stream() override {
    error_code ignored;  // then every write takes the other way
    stream_.non_blocking(true, ignored);
    events_->on_open();
  }
  // A round through the loop for each write would cost as much as the write.
  std::size_t write_now(const std::string& bytes) override {
    if (!stream_.non_blocking()) return 0;
    error_code ignored;
    return stream_.write_some(asio::buffer(bytes), ignored);
  }
};

class TlsWire final : public StreamWire<asio::ssl::stream<Socket>> {
 public:
  TlsWire(asio::io_context& loop, WireEvents& events, std::shared_ptr<TlsSetup> setup)
      : StreamWire(loop, events, setup->context()), setup_(std::move(setup)) {}

 private:
  Socket& socket() override { return stream_.next_layer(); }
  void start_stream() override {
    if (setup_->verify()) stream_.set_verify_callback(asio::ssl::host_name_verification(host_));
    error_code is_name;  // SNI carries names, never addresses
    asio::ip::make_address(host_, is_name);
    if (is_name) SSL_set_tlsext_host_name(stream_.native_handle(), host_.c_str());
    stream_.async_handshake(asio::ssl::stream_base::client, [self = shared_from_this(), this](const error_code& error) {
      if (events_ == nullptr) return;
      if (error) return fail(error);
      events_->on_open();
    });
  }

  std::shared_ptr<TlsSetup> setup_;
};

}  // namespace

std::shared_ptr<Wire> Wire::make(asio::io_context& loop, std::shared_ptr<TlsSetup> tls, WireEvents& events) {
  if (tls) return std::make_shared<TlsWire>(loop, events, std::move(tls));
  return std::make_shared<PlainWire>(loop, events);
}

}  // namespace weir::redis
