// TLS between the socket and the protocol: bytes in, bytes out, no sockets of its own, so that one code path serves
// plain and encrypted connections.
//
// A TlsContext is shared by all connections of a listener, on any thread. reload() replaces its certificates for the
// sessions that begin afterwards. A TlsSession belongs to one connection. TLS 1.2 and later; no renegotiation.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/transport/input_buffer.h"
#include "weir/result.h"

struct ssl_ctx_st;
struct ssl_st;
struct bio_st;

namespace weir::transport {

struct TlsOptions {
  std::filesystem::path certificate_chain{};  // PEM, the server's own first
  std::filesystem::path private_key{};        // PEM
  std::filesystem::path client_ca{};          // PEM; not empty: clients must show a certificate that it signed
  std::vector<std::string> alpn{};            // in order of preference; empty: no ALPN
};

class TlsContext {
 public:
  // The failure names the file.
  static Result<std::shared_ptr<TlsContext>> create(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // Reads the files again. On failure nothing changes.
  Status reload();

  // A session of the server's side; null for want of memory. The caller frees it, before the context goes away.
  ssl_st* make_session() const;
  const std::string& alpn_wire() const { return alpn_wire_; }
  // Clients must show a certificate.
  bool asks_for_certificate() const { return !options_.client_ca.empty(); }

 private:
  explicit TlsContext(const TlsOptions& options) : options_(options) {}

  const TlsOptions options_;
  std::string alpn_wire_;  // length-prefixed names; constant after create()
  mutable std::mutex mutex_;
  ssl_ctx_st* context_ = nullptr;  // guarded by mutex_; sessions hold references of their own
};

class TlsSession {
 public:
  explicit TlsSession(std::shared_ptr<const TlsContext> context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class State { open, ended, failed };

  // Takes bytes from the wire. Appends what they say to `plain`, and what must be sent in turn (handshake, alerts;
  // also after a failure) to `wire`. `ended`: the peer ended the session (close_notify).
  State receive(std::string_view bytes, InputBuffer& plain, std::string& wire);
  // Encrypts all of `plain` onto `wire`. Precondition: established(). False: the session is broken.
  bool send(std::string_view plain, std::string& wire);
  // Our end of the session (close_notify).
  void end(std::string& wire);

  bool established() const;
  std::string alpn() const;
  // The common name in the client's certificate, if one was asked for and verified; otherwise empty.
  std::string client_name() const;
  // After a failure: why the client's certificate was refused; empty if that was not the reason. Static text.
  std::string_view refused_certificate() const { return refused_certificate_; }

 private:
  void collect(std::string& wire);
  void note_refusal();

  std::shared_ptr<const TlsContext> context_;
  ssl_st* session_ = nullptr;
  bio_st* from_wire_ = nullptr;  // owned by session_
  bio_st* to_wire_ = nullptr;    // owned by session_
  std::string_view refused_certificate_;
};

}  // namespace weir::transport
