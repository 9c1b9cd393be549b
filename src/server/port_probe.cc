#include "server/port_probe.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

namespace weir::server {

Status probe_free(const transport::Endpoint& endpoint) {
  if (endpoint.kind != transport::Endpoint::Kind::tcp || endpoint.port == 0) return success();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found) != 0)
    return success();
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return success();
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // connections that linger do not count
  const bool taken = ::bind(fd, found->ai_addr, found->ai_addrlen) != 0 && errno == EADDRINUSE;
  ::close(fd);
  if (!taken) return success();
  return Failure{Code::already_exists, endpoint.text() + " is in use: another server listens there"};
}

}  // namespace weir::server
