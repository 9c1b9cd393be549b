#include "frontends/transport/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace weir::transport {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr int kBacklog = 4096;

Failure system_failure(const Endpoint& endpoint, const char* what) {
  const int error = errno;
  const Code code = error == EADDRINUSE ? Code::already_exists
                    : error == EACCES   ? Code::permission_denied
                                        : Code::unavailable;
  return {code, endpoint.text() + ": " + what + ": " + std::generic_category().message(error)};
}

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

TcpAddress tcp_address(const Endpoint& endpoint) {
  TcpAddress address;
  if (endpoint.host.find(':') != std::string::npos) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    inet_pton(AF_INET6, endpoint.host.c_str(), &v6.sin6_addr);
    address.size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    inet_pton(AF_INET, endpoint.host.c_str(), &v4.sin_addr);
    address.size = sizeof v4;
  }
  return address;
}

sockaddr_un local_address(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, endpoint.path.data(), endpoint.path.size());
  return address;
}

// Removes the file of a Unix socket that no process listens on any more.
Status clear_stale_file(const Endpoint& endpoint, const sockaddr_un& address) {
  struct stat file {};
  if (lstat(endpoint.path.c_str(), &file) != 0) {
    if (errno == ENOENT) return success();
    return system_failure(endpoint, "stat");
  }
  if (!S_ISSOCK(file.st_mode)) {
    return Failure{Code::already_exists, endpoint.text() + ": exists and is not a socket"};
  }
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return system_failure(endpoint, "socket");
  const int connected = connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (connected == 0 || errno != ECONNREFUSED) {
    return Failure{Code::already_exists, endpoint.text() + ": another process listens there"};
  }
  if (unlink(endpoint.path.c_str()) != 0) return system_failure(endpoint, "unlink");
  return success();
}

Peer describe(const sockaddr_storage& storage) {
  Peer peer;
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    peer.port = ntohs(v4.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    // A client that came by IPv4 to a socket for both is the same client as on a socket for IPv4.
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    }
    peer.port = ntohs(v6.sin6_port);
  }
  peer.address = text;
  return peer;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::release() { return std::exchange(fd_, -1); }

Result<Descriptor> bind_tcp(Endpoint& endpoint) {
  TcpAddress address = tcp_address(endpoint);
  Descriptor made(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) return system_failure(endpoint, "socket");
  const int on = 1;
  setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (setsockopt(made.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
    return system_failure(endpoint, "SO_REUSEPORT");
  }
  auto* plain = reinterpret_cast<sockaddr*>(&address.storage);
  if (bind(made.get(), plain, address.size) != 0) return system_failure(endpoint, "bind");
  if (listen(made.get(), kBacklog) != 0) return system_failure(endpoint, "listen");
  if (getsockname(made.get(), plain, &address.size) != 0) return system_failure(endpoint, "getsockname");
  endpoint.port = static_cast<std::uint16_t>(describe(address.storage).port);
  return made;
}

Result<Descriptor> bind_local(const Endpoint& endpoint, unsigned mode) {
  const sockaddr_un address = local_address(endpoint);
  if (Status cleared = clear_stale_file(endpoint, address); !cleared.ok()) return cleared.failure();
  Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) return system_failure(endpoint, "socket");
  if (bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_failure(endpoint, "bind");
  }
  // Before it listens: until then no one can connect, whatever the umask allows.
  if (chmod(endpoint.path.c_str(), static_cast<mode_t>(mode)) != 0) return system_failure(endpoint, "chmod");
  if (listen(made.get(), kBacklog) != 0) return system_failure(endpoint, "listen");
  return made;
}

Listener::Listener(Loop& loop, std::vector<std::shared_ptr<Loop>> targets, std::shared_ptr<Service> service,
                   Descriptor socket, std::string remove_at_close)
    : loop_(loop),
      targets_(std::move(targets)),
      service_(std::move(service)),
      socket_(loop.io(), socket.release()),
      pause_(loop.io()),
      remove_at_close_(std::move(remove_at_close)) {}

void Listener::start() { wait(); }

void Listener::wait() {
  if (!socket_.is_open()) return;
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error && self->socket_.is_open()) self->on_ready();
  });
}

void Listener::pause() {
  pause_.expires_after(kPauseAfterFailure);
  pause_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->wait();
  });
}

void Listener::on_ready() {
  for (int i = 0; i < kAcceptBatch; ++i) {
    const Outcome outcome = accept_one();
    if (outcome == Outcome::failed) return pause();
    if (outcome == Outcome::drained) break;
  }
  wait();
}

Listener::Outcome Listener::accept_one() {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Descriptor fd(
      accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd.get() < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Outcome::drained;
    // The peer left before it was accepted, or the network had an error: the next one may be well.
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return Outcome::accepted;
    loop_.count_refused();
    return Outcome::failed;
  }
  if (service_->open.fetch_add(1, std::memory_order_relaxed) >= service_->limits.connections) {
    service_->open.fetch_sub(1, std::memory_order_relaxed);
    loop_.count_refused();
    return Outcome::accepted;
  }
  if (!service_->memory->take(service_->connection_bytes(), ConnectionMemory::Use::small)) {
    service_->open.fetch_sub(1, std::memory_order_relaxed);
    service_->memory->count_refused();
    loop_.count_refused();
    return Outcome::accepted;
  }
  if (address.ss_family != AF_UNIX) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  loop_.count_accepted();
  hand_over(std::move(fd), describe(address));
  return Outcome::accepted;
}

void Listener::hand_over(Descriptor fd, Peer peer) {
  const std::shared_ptr<Loop>& target = targets_[turn_++ % targets_.size()];
  // Shared, because a task must be copyable; a task that is dropped closes it.
  auto held = std::make_shared<Descriptor>(std::move(fd));
  auto adopt = [target, service = service_, held, peer = std::move(peer)] {
    // The family only matters to calls that we do not make.
    const asio::generic::stream_protocol family(AF_UNSPEC, 0);
    Connection::Socket socket(target->io(), family, held->release());
    auto connection = std::make_shared<Connection>(target, service, std::move(socket), peer);
    target->add(connection);
    connection->start();
    if (target->draining()) connection->drain(target->leaving());
  };
  if (target.get() == &loop_) {
    adopt();
  } else {
    target->post(std::move(adopt));
  }
}

void Listener::close() {
  if (!socket_.is_open()) return;
  // Closing would reset what the kernel has already accepted on our behalf.
  for (int i = 0; i < kBacklog && accept_one() == Outcome::accepted; ++i) {
  }
  error_code ignored;
  socket_.close(ignored);
  pause_.cancel();
  if (!remove_at_close_.empty()) unlink(remove_at_close_.c_str());
}

}  // namespace weir::transport
