#include "frontends/transport/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <climits>
#include <new>

namespace weir::transport {
namespace {

constexpr std::size_t kRecordBytes = std::size_t{16} << 10;
constexpr std::size_t kMaxAlpnName = 255;

Failure openssl_failure(const std::string& what) {
  char reason[256] = "unknown error";
  if (const unsigned long error = ERR_get_error(); error != 0) ERR_error_string_n(error, reason, sizeof reason);
  ERR_clear_error();
  return {Code::invalid_argument, what + ": " + reason};
}

int select_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                unsigned offered_size, void* argument) {
  const std::string& ours = static_cast<const TlsContext*>(argument)->alpn_wire();
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                                          static_cast<unsigned>(ours.size()), offered, offered_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

using OwnContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

Status load_files(SSL_CTX* context, const TlsOptions& options) {
  if (SSL_CTX_use_certificate_chain_file(context, options.certificate_chain.c_str()) != 1) {
    return openssl_failure("certificate " + options.certificate_chain.string());
  }
  if (SSL_CTX_use_PrivateKey_file(context, options.private_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return openssl_failure("private key " + options.private_key.string());
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return openssl_failure("private key " + options.private_key.string() + " does not belong to the certificate");
  }
  if (options.client_ca.empty()) return success();
  if (SSL_CTX_load_verify_locations(context, options.client_ca.c_str(), nullptr) != 1) {
    return openssl_failure("client CA " + options.client_ca.string());
  }
  SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(options.client_ca.c_str()));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return success();
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::create(const TlsOptions& options) {
  std::shared_ptr<TlsContext> made(new TlsContext(options));
  for (const std::string& name : options.alpn) {
    if (name.empty() || name.size() > kMaxAlpnName) return Failure{Code::invalid_argument, "alpn: bad name " + name};
    made->alpn_wire_ += static_cast<char>(name.size());
    made->alpn_wire_ += name;
  }
  if (Status loaded = made->reload(); !loaded.ok()) return loaded.failure();
  return made;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Status TlsContext::reload() {
  OwnContext made(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (made == nullptr) return openssl_failure("tls");
  SSL_CTX* const context = made.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  // Answers do not depend on resumed sessions, and a session with a client certificate would need an id context.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  if (Status status = load_files(context, options_); !status.ok()) return status;
  if (!alpn_wire_.empty()) SSL_CTX_set_alpn_select_cb(context, select_alpn, this);

  const std::lock_guard lock(mutex_);
  SSL_CTX_free(context_);
  context_ = made.release();
  return success();
}

SSL* TlsContext::make_session() const {
  const std::lock_guard lock(mutex_);
  return SSL_new(context_);
}

TlsSession::TlsSession(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)),
      session_(context_->make_session()),
      from_wire_(BIO_new(BIO_s_mem())),
      to_wire_(BIO_new(BIO_s_mem())) {
  if (session_ == nullptr || from_wire_ == nullptr || to_wire_ == nullptr) {
    BIO_free(from_wire_);
    BIO_free(to_wire_);
    SSL_free(session_);
    throw std::bad_alloc();
  }
  SSL_set_bio(session_, from_wire_, to_wire_);
  SSL_set_accept_state(session_);
}

TlsSession::~TlsSession() { SSL_free(session_); }

TlsSession::State TlsSession::receive(std::string_view bytes, InputBuffer& plain, std::string& wire) {
  // The error queue is per thread: what another session left there is not ours.
  ERR_clear_error();
  BIO_write(from_wire_, bytes.data(), static_cast<int>(bytes.size()));
  State state = State::open;
  for (;;) {
    const std::span<char> room = plain.prepare(kRecordBytes);
    const int got = SSL_read(session_, room.data(), static_cast<int>(std::min<std::size_t>(room.size(), INT_MAX)));
    if (got > 0) {
      plain.commit(static_cast<std::size_t>(got));
      continue;
    }
    const int error = SSL_get_error(session_, got);
    if (error == SSL_ERROR_ZERO_RETURN) state = State::ended;
    if (error != SSL_ERROR_ZERO_RETURN && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      state = State::failed;
      note_refusal();
    }
    break;
  }
  collect(wire);
  ERR_clear_error();
  return state;
}

// A client that shows none leaves no result of a verification.
void TlsSession::note_refusal() {
  if (!context_->asks_for_certificate()) return;
  if (const long result = SSL_get_verify_result(session_); result != X509_V_OK) {
    refused_certificate_ = X509_verify_cert_error_string(result);
  } else if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    refused_certificate_ = "no certificate was shown";
  }
}

bool TlsSession::send(std::string_view plain, std::string& wire) {
  ERR_clear_error();
  while (!plain.empty()) {
    // Record by record: the library never gives back what its own buffer has grown to.
    const int put = SSL_write(session_, plain.data(), static_cast<int>(std::min(plain.size(), kRecordBytes)));
    if (put <= 0) {
      ERR_clear_error();
      return false;
    }
    plain.remove_prefix(static_cast<std::size_t>(put));
    collect(wire);
  }
  return true;
}

void TlsSession::end(std::string& wire) {
  if (!established()) return;
  SSL_shutdown(session_);
  collect(wire);
  ERR_clear_error();
}

bool TlsSession::established() const { return SSL_is_init_finished(session_) == 1; }

std::string TlsSession::alpn() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(session_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string TlsSession::client_name() const {
  X509* const certificate = context_->asks_for_certificate() ? SSL_get0_peer_certificate(session_) : nullptr;
  if (certificate == nullptr || SSL_get_verify_result(session_) != X509_V_OK) return {};
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  // With two common names it would not be clear whose certificate this is.
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return {};
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name.find('\0') == std::string::npos ? name : std::string();
}

void TlsSession::collect(std::string& wire) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(to_wire_, &bytes);
  if (size > 0) wire.append(bytes, static_cast<std::size_t>(size));
  (void)BIO_reset(to_wire_);
}

}  // namespace weir::transport
