// TLS between the socket and the protocol: bytes in, bytes out, no sockets of its own, so that one code path serves
// plain and encrypted connections.
//
// A TlsContext is immutable and shared by all connections of a listener, on any thread. A TlsSession belongs to one
// connection. TLS 1.2 and later; no renegotiation.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/transport/input_buffer.h"
#include "weir/result.h"

struct ssl_ctx_st;
struct ssl_st;
struct bio_st;

namespace weir::frontends {

struct TlsOptions {
  std::filesystem::path certificate_chain{};  // PEM, the server's own first
  std::filesystem::path private_key{};        // PEM
  std::filesystem::path client_ca{};          // PEM; not empty: clients must show a certificate that it signed
  std::vector<std::string> alpn{};            // in order of preference; empty: no ALPN
};

class TlsContext {
 public:
  // The failure names the file.
  static Result<std::shared_ptr<const TlsContext>> create(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* native() const { return context_; }
  const std::string& alpn_wire() const { return alpn_wire_; }

 private:
  TlsContext() = default;

  ssl_ctx_st* context_ = nullptr;
  std::string alpn_wire_;  // length-prefixed names
};

class TlsSession {
 public:
  explicit TlsSession(std::shared_ptr<const TlsContext> context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class State { open, ended, failed };

  // Takes bytes from the wire. Appends what they say to `plain`, and what must be sent in turn (handshake, alerts;
  // also after a failure) to `wire`. `ended`: the peer said goodbye.
  State receive(std::string_view bytes, InputBuffer& plain, std::string& wire);
  // Encrypts all of `plain` onto `wire`. Precondition: established(). False: the session is broken.
  bool send(std::string_view plain, std::string& wire);
  // Our goodbye.
  void end(std::string& wire);

  bool established() const;
  std::string alpn() const;

 private:
  void collect(std::string& wire);

  std::shared_ptr<const TlsContext> context_;
  ssl_st* session_ = nullptr;
  bio_st* from_wire_ = nullptr;  // owned by session_
  bio_st* to_wire_ = nullptr;    // owned by session_
};

}  // namespace weir::frontends
