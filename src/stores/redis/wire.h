// Wire: a byte stream to one server over TCP, TLS or a Unix socket.
//
// All calls and events happen on the loop. After close() no event follows; a Wire is used for one connection only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "stores/redis/options.h"
#include "stores/redis/trouble.h"
#include "weir/result.h"

namespace weir::redis {

// The certificates to use, read once and shared by all wires of a store.
class TlsSetup;
// Null when TLS is off. Fails if a file cannot be used.
Result<std::shared_ptr<TlsSetup>> make_tls_setup(const TlsOptions& options);

class WireEvents {
 public:
  virtual void on_open() = 0;
  virtual void on_read(std::string_view bytes) = 0;
  virtual void on_written() = 0;
  // The stream has ended; no other event follows.
  virtual void on_broken(const Trouble& trouble) = 0;

 protected:
  ~WireEvents() = default;
};

class Wire {
 public:
  // `tls` may be null. `events` must live until close().
  static std::shared_ptr<Wire> make(boost::asio::io_context& loop, std::shared_ptr<TlsSetup> tls, WireEvents& events);
  virtual ~Wire() = default;

  virtual void open(const Address& address) = 0;
  // After on_open(): every arrival is reported by on_read().
  virtual void start_reading() = 0;
  // Takes the text and leaves an empty one with room in its place. True: the system has all of it already. False: it is
  // under way; wait for on_written() before the next. Reports nothing before it returns.
  [[nodiscard]] virtual bool write(std::string& bytes) = 0;
  // True when bytes have arrived that on_read() has not told of yet.
  virtual bool readable() = 0;
  // What it is trouble of while on_open() has not been called and does not come.
  virtual Trouble stuck() const = 0;
  virtual void close() = 0;
};

}  // namespace weir::redis
