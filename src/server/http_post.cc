#include "server/http_post.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/tls_stream.h"

namespace weir::server {
namespace {

struct SocketCloser {
  int fd;
  ~SocketCloser() { ::close(fd); }
};

Failure not_a_url() { return {Code::invalid_argument, "expected a URL such as https://example.com/path"}; }

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

Result<std::unique_ptr<HttpPost>> HttpPost::make(const std::string& url, Duration timeout) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || (!url.starts_with("http://") && !url.starts_with("https://"))) return not_a_url();
  const std::size_t slash = url.find('/', scheme + 3);
  const Result<cli::ServerAddress> address = cli::ServerAddress::parse(url.substr(0, slash));
  if (!address.ok() || !address.value().path.empty()) return not_a_url();
  std::unique_ptr<HttpPost> made(new HttpPost);
  made->address_ = address.value();
  const std::string& host = made->address_.host;
  made->host_ = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (!made->address_.port.empty()) made->host_ += ":" + made->address_.port;
  if (made->address_.port.empty()) made->address_.port = made->address_.tls ? "443" : "80";
  made->path_ = slash == std::string::npos ? "/" : url.substr(slash);
  made->timeout_ = timeout;
  if (made->address_.tls) {
    Result<std::shared_ptr<const cli::ClientTls>> tls = cli::ClientTls::create({});
    if (!tls.ok()) return tls.failure();
    made->tls_ = std::move(tls).value();
  }
  return made;
}

Result<int> HttpPost::connect() const {
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

Result<int> HttpPost::post(std::string_view body, std::string_view content_type, std::string_view fields) const {
  const Result<int> connected = connect();
  if (!connected.ok()) return connected.failure();
  const SocketCloser closer{connected.value()};
  std::string request = "POST " + path_ + " HTTP/1.1\r\nHost: " + host_ + "\r\nContent-Type: ";
  request += content_type;
  request += "\r\nConnection: close\r\n";
  request += fields;
  request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  request += body;

  std::unique_ptr<cli::TlsStream> tls;
  if (tls_ != nullptr) {
    tls = std::make_unique<cli::TlsStream>(tls_, closer.fd, address_.text);
    if (Status shaken = tls->handshake(address_.host); !shaken.ok()) return shaken.failure();
    if (Status sent = tls->write(request); !sent.ok()) return sent.failure();
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
  return status_of(line);
}

}  // namespace weir::server
