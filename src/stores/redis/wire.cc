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
    resolving_ = true;
    resolver_.async_resolve(address.host, std::to_string(address.port),
                            [self = shared_from_this()](const error_code& error, const auto& results) {
                              if (self->events_ == nullptr) return;
                              if (error) return self->fail({Cause::address, error.message()});
                              self->resolving_ = false;
                              for (const auto& entry : results) self->endpoints_.emplace_back(entry.endpoint());
                              self->connect_next();
                            });
  }

  bool readable() final {
    error_code error;
    return socket().available(error) > 0 && !error;
  }

  Trouble stuck() const final {
    if (resolving_) return {Cause::address, "the look-up of the host name takes too long"};
    if (!connected_) return {Cause::unreachable, "no connection in time"};
    return {Cause::no_reply, "connected, but no reply to the TLS handshake in time"};
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

  void fail(const Trouble& trouble) {
    if (events_ == nullptr) return;
    WireEvents* events = events_;
    close();
    events->on_broken(trouble);
  }
  // A stream that was open has ended.
  void fail(const error_code& error) {
    if (error.category() == asio::error::get_ssl_category()) return fail({Cause::tls, error.message()});
    fail({Cause::lost, error == asio::error::eof ? "the server closed the connection" : error.message()});
  }

  asio::io_context& loop_;
  WireEvents* events_;  // null after close()
  std::string host_;

 private:
  void open_unix(const Address& address) {
    try {
      endpoints_.emplace_back(asio::local::stream_protocol::endpoint(address.host));
    } catch (const boost::system::system_error& error) {  // the path is too long for the system
      return asio::post(loop_, [self = shared_from_this(), said = error.code().message()] {
        self->fail({Cause::address, said});
      });
    }
    connect_next();
  }

  void connect_next() {
    error_code ignored;
    if (socket().is_open()) socket().close(ignored);
    socket().async_connect(endpoints_[next_endpoint_++], [self = shared_from_this()](const error_code& error) {
      if (self->events_ == nullptr) return;
      if (error && self->next_endpoint_ < self->endpoints_.size()) return self->connect_next();
      if (error) return self->fail({Cause::unreachable, error.message()});
      self->connected_ = true;
      error_code no_tcp;  // a Unix socket has no such option
      self->socket().set_option(asio::ip::tcp::no_delay(true), no_tcp);
      self->start_stream();
    });
  }

  asio::ip::tcp::resolver resolver_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
  bool resolving_ = false;
  bool connected_ = false;
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
    SSL* const session = stream_.native_handle();
    error_code is_name;
    asio::ip::make_address(host_, is_name);
    if (is_name) SSL_set_tlsext_host_name(session, host_.c_str());  // SNI carries names, never addresses
    if (setup_->verify()) {
      // OpenSSL compares the name itself, so that it can say that the name, and not the certificate, is wrong.
      X509_VERIFY_PARAM* const expected = SSL_get0_param(session);
      X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      const int set = is_name ? X509_VERIFY_PARAM_set1_host(expected, host_.c_str(), host_.size())
                              : X509_VERIFY_PARAM_set1_ip_asc(expected, host_.c_str());
      if (set != 1) return fail({Cause::tls, "the host name cannot be verified"});
    }
    stream_.async_handshake(asio::ssl::stream_base::client, [self = shared_from_this(), this](const error_code& error) {
      if (events_ == nullptr) return;
      if (error) return fail(handshake_trouble(error));
      events_->on_open();
    });
  }

  Trouble handshake_trouble(const error_code& error) {
    const long verified = SSL_get_verify_result(stream_.native_handle());
    if (!setup_->verify() || verified == X509_V_OK) {
      return {Cause::tls,
              error == asio::error::eof ? "the server closed the connection in the TLS handshake" : error.message()};
    }
    const std::string said = X509_verify_cert_error_string(verified);
    if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      return {Cause::host_name, said + ": the certificate is not for " + host_};
    }
    return {Cause::certificate, said};
  }

  std::shared_ptr<TlsSetup> setup_;
};

}  // namespace

std::shared_ptr<Wire> Wire::make(asio::io_context& loop, std::shared_ptr<TlsSetup> tls, WireEvents& events) {
  if (tls) return std::make_shared<TlsWire>(loop, events, std::move(tls));
  return std::make_shared<PlainWire>(loop, events);
}

}  // namespace weir::redis
