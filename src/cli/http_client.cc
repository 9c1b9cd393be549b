#include "cli/http_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/tls_stream.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxHeadBytes = std::size_t{64} << 10;

// What comes before the body.
struct Head {
  int status = 0;
  std::size_t body_bytes = 0;
  bool close = false;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_header(std::string_view line, Head& head, bool& has_length) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "content-length") {
    has_length = true;
    return read_number(value, head.body_bytes);
  }
  if (name == "connection") head.close = lower(value) == "close";
  return name != "transfer-encoding";
}

// `text` is everything before the empty line. Nothing if it is not an answer that we understand.
std::optional<Head> read_head(std::string_view text) {
  Head head;
  bool has_length = false;
  const std::size_t first = std::min(text.find("\r\n"), text.size());
  const std::string_view line = text.substr(0, first);
  if (!line.starts_with("HTTP/1.1 ") || line.size() < 12 || !read_number(line.substr(9, 3), head.status)) return {};
  std::string_view rest = text.substr(std::min(first + 2, text.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\r\n"), rest.size());
    if (!read_header(rest.substr(0, end), head, has_length)) return {};
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  if (head.status == 204) return head;  // has neither a body nor its length
  if (!has_length || head.body_bytes > HttpClient::kMaxAnswerBytes) return {};
  return head;
}

}  // namespace

Result<ServerAddress> ServerAddress::parse(std::string_view text) {
  ServerAddress out;
  out.text = text;
  const auto bad = [&](std::string_view why) {
    return Failure{Code::invalid_argument, "'" + out.text + "' " + std::string(why) +
                                               ", expected http://host:port, https://host or unix:/path"};
  };
  if (text.starts_with("unix:")) {
    out.path = text.substr(5);
    if (out.path.empty() || out.path.size() >= sizeof(sockaddr_un::sun_path)) return bad("has no usable socket path");
    return out;
  }
  out.tls = text.starts_with("https://");
  if (out.tls) text.remove_prefix(8);
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.ends_with('/')) text.remove_suffix(1);
  if (text.find("://") != std::string_view::npos) return bad("has an unknown scheme");
  if (text.find('/') != std::string_view::npos) return bad("has a path");
  const bool bracketed = text.starts_with('[');
  std::size_t colon = text.rfind(':');
  if (bracketed && colon != std::string_view::npos && text[colon - 1] != ']') colon = std::string_view::npos;
  if (colon == std::string_view::npos && !out.tls) return bad("has no port");
  std::string_view host = text.substr(0, colon);
  if (bracketed && !host.ends_with(']')) return bad("has a bracket that is not closed");
  if (bracketed) host = host.substr(1, host.size() - 2);
  out.host = host;
  out.port = colon == std::string_view::npos ? "443" : text.substr(colon + 1);
  std::uint16_t port = 0;
  if (host.empty() || !read_number(std::string_view(out.port), port) || port == 0) return bad("has no host and port");
  return out;
}

Failure HttpClient::failed(std::string_view what) const {
  return {Code::unavailable, "cannot reach " + server_.text + ": " + std::string(what)};
}

HttpClient::HttpClient(ServerTarget target) : target_(std::move(target)) {}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  tls_.reset();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status HttpClient::open(int family, const void* address, unsigned length, int protocol) {
  fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
  if (fd_ < 0) return failed(std::strerror(errno));
  timeval limit{};
  limit.tv_sec = target_.timeout.count() / 1'000'000;
  limit.tv_usec = target_.timeout.count() % 1'000'000;
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // bounds connect() too
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd_, static_cast<const sockaddr*>(address), length) == 0) return success();
  const int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
  close();
  return failed(std::strerror(error));
}

Status HttpClient::connect_local() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(server_.path.begin(), server_.path.end(), address.sun_path);
  return open(AF_UNIX, &address, sizeof address, 0);
}

Status HttpClient::connect_tcp() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(server_.host.c_str(), server_.port.c_str(), &hints, &found); error != 0) {
    return failed(::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  Status status = failed("the name has no address");
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    status = open(each->ai_family, each->ai_addr, each->ai_addrlen, each->ai_protocol);
    if (!status.ok()) continue;
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    break;
  }
  return status;
}

Status HttpClient::connect() {
  Status status = server_.path.empty() ? connect_tcp() : connect_local();
  if (!status.ok() || !server_.tls) return status;
  tls_ = std::make_unique<TlsStream>(target_.tls, fd_, server_.text);
  status = tls_->handshake(server_.host);
  if (!status.ok()) close();
  return status;
}

Status HttpClient::send(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->write(bytes);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return failed(std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return success();
}

Result<std::size_t> HttpClient::receive(char* buffer, std::size_t size) {
  if (tls_ != nullptr) return tls_->read(buffer, size);
  for (;;) {
    const ssize_t got = ::recv(fd_, buffer, size, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return failed(errno == EAGAIN ? "no answer in time" : std::strerror(errno));
  }
}

Result<HttpAnswer> HttpClient::exchange(std::string_view request) {
  answered_ = false;
  if (Status sent = send(request); !sent.ok()) return sent.failure();
  std::string input;
  std::optional<Head> head;
  std::size_t head_bytes = 0;
  char buffer[16384];
  for (;;) {
    if (!head) {
      if (const std::size_t end = input.find("\r\n\r\n"); end != std::string::npos) {
        head = read_head(std::string_view(input).substr(0, end));
        head_bytes = end + 4;
        if (!head)
          return Failure{Code::internal, "the answer of " + server_.text + " is not the HTTP of a Weir server"};
      } else if (input.size() > kMaxHeadBytes) {
        return Failure{Code::internal, "the headers of the answer of " + server_.text + " do not end"};
      }
    }
    if (head && input.size() >= head_bytes + head->body_bytes) break;
    const Result<std::size_t> got = receive(buffer, sizeof buffer);
    if (!got.ok()) return got.failure();
    if (got.value() == 0) return failed("the connection was closed");
    answered_ = true;
    input.append(buffer, got.value());
    if (tls_ == nullptr && input.starts_with("\x15\x03")) return failed("it answers with TLS; use https://");
  }
  if (head->close) close();
  return HttpAnswer{head->status, input.substr(head_bytes, head->body_bytes)};
}

Result<HttpAnswer> HttpClient::stream(std::string_view target, const std::function<bool(std::string_view)>& see) {
  close();
  if (Status status = connect(); !status.ok()) return status.failure();
  if (Status sent = send(head_of("GET", target, 0) + "\r\n"); !sent.ok()) return sent.failure();
  std::string input;
  char buffer[16384];
  while (input.find("\r\n\r\n") == std::string::npos) {
    const Result<std::size_t> got = receive(buffer, sizeof buffer);
    if (!got.ok()) return got.failure();
    if (got.value() == 0 || input.size() > kMaxHeadBytes) return failed("the connection was closed");
    input.append(buffer, got.value());
  }
  const std::size_t head_bytes = input.find("\r\n\r\n") + 4;
  const bool streams = input.starts_with("HTTP/1.1 200 ");
  if (!streams) {
    close();
    return request("GET", target);
  }
  input.erase(0, head_bytes);
  bool goes_on = input.empty() || see(input);
  while (goes_on) {
    const Result<std::size_t> got = receive(buffer, sizeof buffer);
    if (!got.ok()) return got.failure();
    if (got.value() == 0) break;
    goes_on = see({buffer, got.value()});
  }
  close();
  return HttpAnswer{200, {}};
}

std::string HttpClient::head_of(std::string_view method, std::string_view target, std::size_t body_bytes) const {
  std::string request = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: ";
  const bool is_v6 = server_.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + server_.host + "]" : server_.host;
  request += server_.path.empty() ? host + ":" + server_.port : "localhost";
  if (!target_.token.empty()) request += "\r\nAuthorization: Bearer " + target_.token;
  request += "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n";
  return request;
}

Result<HttpAnswer> HttpClient::request(std::string_view method, std::string_view target, std::string_view body,
                                       std::string_view fields) {
  const std::string request = head_of(method, target, body.size()).append(fields).append("\r\n").append(body);
  const bool kept = fd_ >= 0;
  if (!kept) {
    if (Status status = connect(); !status.ok()) return status.failure();
  }
  Result<HttpAnswer> answer = exchange(request);
  if (!answer.ok()) close();
  if (answer.ok() || !kept || answered_) return answer;
  // The server may close an idle connection at any moment; that it did so before this request reached it is the
  // likely reading of a connection that ended without one byte of an answer.
  if (Status status = connect(); !status.ok()) return status.failure();
  answer = exchange(request);
  if (!answer.ok()) close();
  return answer;
}

}  // namespace weir::cli
