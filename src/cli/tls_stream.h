// TLS of the command line's client: verifies the server's certificate and its host name, and shows a certificate of its
// own if there is one. OpenSSL stays in tls_stream.cc.
//
// Failures say what is wrong with which certificate. Their codes: invalid_argument (a file of ours),
// failed_precondition (the server's certificate is not acceptable), permission_denied (the server does not accept ours,
// or wants one), unavailable (the connection broke, timed out, or the server does not speak TLS).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "weir/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::cli {

// PEM files; an empty path: none.
struct TlsFiles {
  std::string ca;    // authorities to trust instead of the system's
  std::string cert;  // our certificate, with its chain
  std::string key;   // its private key; empty: it is in `cert`
};

// What all connections share. Thread-safe once created.
class ClientTls {
 public:
  static Result<std::shared_ptr<const ClientTls>> create(const TlsFiles& files);
  ~ClientTls();
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;

  ssl_ctx_st* context() const { return context_; }
  bool shows_certificate() const { return shows_certificate_; }

 private:
  ClientTls() = default;
  ssl_ctx_st* context_ = nullptr;
  bool shows_certificate_ = false;
};

// TLS over one blocking socket, which the caller owns and closes. Not thread-safe.
class TlsStream {
 public:
  // `name` is the server as the user wrote it, for messages.
  TlsStream(std::shared_ptr<const ClientTls> tls, int fd, std::string name);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // The certificate must be for `host`, a name or an address.
  Status handshake(const std::string& host);
  Status write(std::string_view bytes);
  // At least one byte, or 0 when the server has ended the connection.
  Result<std::size_t> read(char* buffer, std::size_t size);

 private:
  Failure why(int result) const;
  Failure bad_certificate(long error) const;

  const std::shared_ptr<const ClientTls> tls_;
  const std::string name_;
  ssl_st* session_ = nullptr;
  std::string refused_hosts_;  // those of a certificate that was not accepted
};

}  // namespace weir::cli
