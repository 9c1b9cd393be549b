// TestClient: a blocking socket for the tests of front ends. Every wait ends after kPatience, so that a test that would
// hang fails instead.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "frontends/transport/endpoint.h"

namespace weir::transport {

class TestClient {
 public:
  static constexpr int kPatienceMs = 20'000;

  explicit TestClient(const Endpoint& endpoint, int receive_buffer = 0) {
    const bool local = endpoint.kind == Endpoint::Kind::local;
    fd_ = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    if (local) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, endpoint.path.data(), endpoint.path.size());
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(endpoint.port);
      inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
  }
  TestClient(TestClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), held_(std::move(other.held_)) {}
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;
  ~TestClient() {
    if (fd_ >= 0) ::close(fd_);
  }

  int fd() const { return fd_; }
  bool connected() const { return connected_; }

  // False when the other side no longer takes it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // We have nothing more to say.
  void half_close() { shutdown(fd_, SHUT_WR); }

  // The next `size` bytes; fewer if the connection ends.
  std::string read(std::size_t size) {
    while (held_.size() < size && more()) {
    }
    return take(size);
  }
  // Up to and including `mark`; what there is if the connection ends.
  std::string read_until(std::string_view mark) {
    std::size_t at = 0;
    std::size_t from = 0;
    while ((at = held_.find(mark, from)) == std::string::npos) {
      from = held_.size() - std::min(held_.size(), mark.size() - 1);
      if (!more()) return take(held_.size());
    }
    return take(at + mark.size());
  }
  // All until the other side closes. ended() says whether it did.
  std::string read_to_end() {
    while (more()) {
    }
    return take(held_.size());
  }
  // One HTTP answer: head, and as much body as it announces.
  std::string read_response() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read(std::stoul(head.substr(at + 16)));
  }
  // The other side has closed or reset the connection.
  bool ended() const { return ended_; }

 private:
  bool more() {
    pollfd waited{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, kPatienceMs) <= 0) return false;
    char bytes[16384];
    const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      ended_ = true;
      return false;
    }
    held_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
  std::string take(std::size_t size) {
    std::string taken = held_.substr(0, size);
    held_.erase(0, taken.size());
    return taken;
  }

  int fd_ = -1;
  bool connected_ = false;
  bool ended_ = false;
  std::string held_;
};

// Waits for what another thread brings about; false when it does not come.
inline bool eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < TestClient::kPatienceMs; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace weir::transport
