#include "server/webhook.h"

#include <netdb.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "cli/tls_stream.h"

namespace weir::server {
namespace {

struct Closer {
  int fd;
  ~Closer() { ::close(fd); }
};

Failure not_a_url() { return {Code::invalid_argument, "expected a URL such as https://example.com/hooks/quota"}; }

// "HTTP/1.1 204 …". 0: not that.
int status_of(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12) return 0;
  int status = 0;
  for (const char c : line.substr(9, 3)) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

}  // namespace

std::string Webhook::signature(const std::string& secret, std::string_view timestamp, std::string_view body) {
  const std::string text = std::string(timestamp) + "." + std::string(body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "sha256=";
  for (unsigned int i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4U];
    out += kDigits[bytes[i] & 15U];
  }
  return out;
}

Result<std::unique_ptr<Webhook>> Webhook::make(const std::string& url, std::string secret, Duration timeout) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || (!url.starts_with("http://") && !url.starts_with("https://"))) return not_a_url();
  const std::size_t slash = url.find('/', scheme + 3);
  const Result<cli::ServerAddress> address = cli::ServerAddress::parse(url.substr(0, slash));
  if (!address.ok() || !address.value().path.empty()) return not_a_url();
  std::unique_ptr<Webhook> made(new Webhook);
  made->address_ = address.value();
  if (made->address_.port.empty()) made->address_.port = made->address_.tls ? "443" : "80";
  made->path_ = slash == std::string::npos ? "/" : url.substr(slash);
  made->secret_ = std::move(secret);
  made->timeout_ = timeout;
  if (made->address_.tls) {
    Result<std::shared_ptr<const cli::ClientTls>> tls = cli::ClientTls::create({});
    if (!tls.ok()) return tls.failure();
    made->tls_ = std::move(tls).value();
  }
  return made;
}

Result<int> Webhook::connect() const {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address_.host.c_str(), address_.port.c_str(), &hints, &found); error != 0) {
    return Failure{Code::unavailable, address_.text + ": " + ::gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int fd = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
    if (fd < 0) continue;
    const timeval wait{static_cast<time_t>(timeout_.count() / 1'000'000),
                       static_cast<suseconds_t>(timeout_.count() % 1'000'000)};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);  // bounds connect() as well
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    if (::connect(fd, each->ai_addr, each->ai_addrlen) == 0) return fd;
    why = std::strerror(errno);
    ::close(fd);
  }
  return Failure{Code::unavailable, address_.text + ": " + why};
}

Status Webhook::post(std::string_view body, TimePoint now) const {
  const Result<int> connected = connect();
  if (!connected.ok()) return connected.failure();
  const Closer closer{connected.value()};
  const std::string timestamp = std::to_string(micros(now) / 1'000'000);
  std::string request = "POST " + path_ + " HTTP/1.1\r\nHost: " + address_.host +
                        "\r\nContent-Type: application/json\r\nConnection: close\r\nX-Weir-Timestamp: " + timestamp;
  if (!secret_.empty()) request += "\r\nX-Weir-Signature: " + signature(secret_, timestamp, body);
  request += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);

  std::unique_ptr<cli::TlsStream> tls;
  if (tls_ != nullptr) {
    tls = std::make_unique<cli::TlsStream>(tls_, closer.fd, address_.text);
    if (Status shaken = tls->handshake(address_.host); !shaken.ok()) return shaken;
    if (Status sent = tls->write(request); !sent.ok()) return sent;
  } else if (::send(closer.fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return Failure{Code::unavailable, address_.text + ": " + std::strerror(errno)};
  }
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < 1024) {
    std::array<char, 256> buffer{};
    ssize_t count = 0;
    if (tls != nullptr) {
      const Result<std::size_t> read = tls->read(buffer.data(), buffer.size());
      if (!read.ok()) return read.failure();
      count = static_cast<ssize_t>(read.value());
    } else {
      count = ::recv(closer.fd, buffer.data(), buffer.size(), 0);
    }
    if (count <= 0) return Failure{Code::unavailable, address_.text + ": did not answer"};
    line.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const int status = status_of(line);
  if (status >= 200 && status < 300) return success();
  return Failure{Code::failed_precondition, address_.text + ": answered " + std::to_string(status)};
}

}  // namespace weir::server
