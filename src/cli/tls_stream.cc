#include "cli/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/ip_address.h"
#include "cli/terminal.h"

namespace weir::cli {
namespace {

std::string openssl_reason() {
  const unsigned long error = ERR_peek_last_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

Failure bad_file(std::string_view flag, const std::string& path) {
  Failure failure{Code::invalid_argument, std::string(flag) + " " + path + ": " + openssl_reason()};
  ERR_clear_error();
  return failure;
}

// OpenSSL's own socket BIO would raise SIGPIPE when the server has closed the connection.
int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int send_bytes(BIO* bio, const char* bytes, int size) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return static_cast<int>(sent);
}

int receive_bytes(BIO* bio, char* bytes, int size) {
  ssize_t got = 0;
  do {
    got = ::recv(socket_of(bio), bytes, static_cast<std::size_t>(size), 0);
  } while (got < 0 && errno == EINTR);
  return static_cast<int>(got);
}

long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "weir client socket");
    if (made == nullptr) throw std::bad_alloc();
    BIO_meth_set_write(made, send_bytes);
    BIO_meth_set_read(made, receive_bytes);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

// A name or an address of the certificate's subject; empty for another kind of name.
std::string text_of(const GENERAL_NAME& name) {
  if (name.type != GEN_DNS && name.type != GEN_IPADD) return {};
  const ASN1_STRING* value = name.type == GEN_DNS ? name.d.dNSName : name.d.iPAddress;
  const unsigned char* bytes = ASN1_STRING_get0_data(value);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
  if (name.type == GEN_DNS) return shown(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (size == 4) return base::ip_text(base::ipv4_address(bytes));
  return size == 16 ? base::ip_text(base::ipv6_address(bytes)) : std::string();
}

// "localhost, 127.0.0.1": the hosts a certificate is for.
std::string hosts_in(const X509* certificate) {
  using Names = std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)>;
  constexpr int kMostShown = 8;
  if (certificate == nullptr) return {};
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
                    GENERAL_NAMES_free);
  std::string out;
  for (int i = 0; names != nullptr && i < std::min(kMostShown, sk_GENERAL_NAME_num(names.get())); ++i) {
    const std::string text = text_of(*sk_GENERAL_NAME_value(names.get(), i));
    if (!text.empty()) out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

// Changes no verdict; a session does not keep the certificate that it refused.
int note_refused_hosts(int ok, X509_STORE_CTX* store) {
  const void* session = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  auto* hosts = static_cast<std::string*>(SSL_get_app_data(static_cast<const SSL*>(session)));
  if (ok != 1) *hosts = hosts_in(X509_STORE_CTX_get_current_cert(store));
  return ok;
}

Status load_files(SSL_CTX* context, const TlsFiles& files) {
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, files.ca.c_str(), nullptr) != 1) {
    return bad_file("--ca", files.ca);
  }
  if (files.cert.empty()) return success();
  if (SSL_CTX_use_certificate_chain_file(context, files.cert.c_str()) != 1) return bad_file("--cert", files.cert);
  const std::string& key = files.key.empty() ? files.cert : files.key;
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) return bad_file("--key", key);
  return success();
}

// A server that wants a certificate, or another one, says so in an alert.
bool is_about_our_certificate(int reason) {
  switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<std::shared_ptr<const ClientTls>> ClientTls::create(const TlsFiles& files) {
  ERR_clear_error();
  std::shared_ptr<ClientTls> made(new ClientTls);
  made->context_ = SSL_CTX_new(TLS_client_method());
  if (made->context_ == nullptr) return Failure{Code::internal, "TLS: " + openssl_reason()};
  SSL_CTX_set_min_proto_version(made->context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER, note_refused_hosts);
  // Our HTTP messages have a length, so an end without a farewell cuts nothing short unnoticed.
  SSL_CTX_set_options(made->context_, SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (const Status loaded = load_files(made->context_, files); !loaded.ok()) return loaded.failure();
  made->shows_certificate_ = !files.cert.empty();
  return std::shared_ptr<const ClientTls>(std::move(made));
}

ClientTls::~ClientTls() { SSL_CTX_free(context_); }

TlsStream::TlsStream(std::shared_ptr<const ClientTls> tls, int fd, std::string name)
    : tls_(std::move(tls)), name_(std::move(name)), session_(SSL_new(tls_->context())) {
  BIO* bio = session_ == nullptr ? nullptr : BIO_new(socket_method());
  if (bio == nullptr) {
    SSL_free(session_);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session_, bio, bio);
  SSL_set_app_data(session_, &refused_hosts_);
}

TlsStream::~TlsStream() { SSL_free(session_); }

Status TlsStream::handshake(const std::string& host) {
  ERR_clear_error();
  const bool is_address = base::parse_ip(host).has_value();
  const bool set =
      is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_), host.c_str()) == 1
                 : SSL_set1_host(session_, host.c_str()) == 1 && SSL_set_tlsext_host_name(session_, host.c_str()) == 1;
  if (!set) return Failure{Code::invalid_argument, "'" + host + "' is not a valid host for a certificate"};
  const int done = SSL_connect(session_);
  if (done == 1) return success();
  if (const long error = SSL_get_verify_result(session_); error != X509_V_OK) return bad_certificate(error);
  return why(done);
}

Failure TlsStream::bad_certificate(long error) const {
  const std::string whose = "the certificate of " + name_;
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return {Code::failed_precondition, whose + " has expired"};
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return {Code::failed_precondition, whose + " is not valid yet"};
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: {
      const std::string other = refused_hosts_.empty() ? "" : ": " + refused_hosts_;
      return {Code::failed_precondition, whose + " is for another host" + other};
    }
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return {Code::failed_precondition, whose + " is not signed by a trusted authority; --ca FILE names one to trust"};
    default:
      return {Code::failed_precondition, whose + " is not valid: " + X509_verify_cert_error_string(error)};
  }
}

Failure TlsStream::why(int result) const {
  const int saved_errno = errno;
  const int error = SSL_get_error(session_, result);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  const std::string text = openssl_reason();
  ERR_clear_error();
  if (error == SSL_ERROR_SSL) {
    if (is_about_our_certificate(reason)) {
      if (tls_->shows_certificate()) return {Code::permission_denied, name_ + " refused our certificate: " + text};
      return {Code::permission_denied, name_ + " requires a client certificate; --cert FILE --key FILE name one"};
    }
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
      return {Code::unavailable, name_ + " does not speak TLS; use http:// if that is intended"};
    }
    return {Code::unavailable, "TLS with " + name_ + " failed: " + text};
  }
  const bool late = saved_errno == EAGAIN || saved_errno == EWOULDBLOCK;
  if (error == SSL_ERROR_SYSCALL && late) {
    return {Code::unavailable, "cannot reach " + name_ + ": no answer in time"};
  }
  const bool broken = error == SSL_ERROR_SYSCALL && saved_errno != 0;
  return {Code::unavailable,
          "cannot reach " + name_ + ": " + (broken ? std::strerror(saved_errno) : "the connection was closed")};
}

Status TlsStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    ERR_clear_error();
    errno = 0;
    const int sent = SSL_write(session_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
    if (sent <= 0) {
      // A server that refuses our certificate closes the connection; its alert says why, and may be waiting already.
      Failure failure = why(sent);
      char byte = 0;
      const Result<std::size_t> alert = read(&byte, 1);
      return !alert.ok() && alert.failure().code == Code::permission_denied ? alert.failure() : failure;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return success();
}

Result<std::size_t> TlsStream::read(char* buffer, std::size_t size) {
  ERR_clear_error();
  errno = 0;
  const int got = SSL_read(session_, buffer, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
  if (got > 0) return static_cast<std::size_t>(got);
  if (SSL_get_error(session_, got) == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
  return why(got);
}

}  // namespace weir::cli
