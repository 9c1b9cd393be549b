#include "frontends/transport/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>

namespace weir::transport {
namespace {

constexpr std::string_view kLocalPrefix = "unix:";

Failure refuse(std::string_view text, std::string_view why) {
  return {Code::invalid_argument, "\"" + std::string(text) + "\": " + std::string(why) +
                                      "; expected address:port, [address]:port, unix:/path or off"};
}

Result<Endpoint> parse_local(std::string_view text, std::string_view path) {
  if (path.empty()) return refuse(text, "the path is empty");
  if (path.find('\0') != std::string_view::npos) return refuse(text, "the path contains NUL");
  constexpr std::size_t kLongest = sizeof(sockaddr_un{}.sun_path) - 1;
  if (path.size() > kLongest) {
    return refuse(text, "the path is longer than " + std::to_string(kLongest) + " bytes, the most a Unix socket takes");
  }
  return Endpoint{.kind = Endpoint::Kind::local, .host = {}, .port = 0, .path = std::string(path)};
}

bool parse_port(std::string_view text, std::uint16_t& port) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end;
}

bool literal(int family, const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, host.c_str(), bytes) == 1;
}

}  // namespace

std::string Endpoint::text() const {
  switch (kind) {
    case Kind::off:
      return "off";
    case Kind::local:
      return std::string(kLocalPrefix) + path;
    case Kind::tcp:
      break;
  }
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text == "off") return Endpoint{};
  if (text.starts_with(kLocalPrefix)) return parse_local(text, text.substr(kLocalPrefix.size()));

  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse(text, "the port is missing");
  Endpoint endpoint{.kind = Endpoint::Kind::tcp, .host = std::string(text.substr(0, colon)), .port = 0, .path = {}};
  if (!parse_port(text.substr(colon + 1), endpoint.port)) return refuse(text, "the port is not a number up to 65535");
  if (endpoint.host.empty()) return refuse(text, "the address is missing (0.0.0.0 means every interface)");

  if (endpoint.host.front() == '[') {
    if (endpoint.host.back() != ']') return refuse(text, "the bracket is not closed");
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
    if (!literal(AF_INET6, endpoint.host)) return refuse(text, "not an IPv6 address between the brackets");
    return endpoint;
  }
  if (endpoint.host == "localhost") endpoint.host = "127.0.0.1";
  if (endpoint.host.find(':') != std::string::npos) return refuse(text, "an IPv6 address must be in brackets");
  if (!literal(AF_INET, endpoint.host)) return refuse(text, "not an IP address");
  return endpoint;
}

}  // namespace weir::transport
