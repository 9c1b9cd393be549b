#include "identity/proxy_protocol.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir::identity {
namespace {

using State = ProxyHeader::State;

constexpr std::string_view kLineStart = "PROXY ";
constexpr std::string_view kBinaryStart("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t kBinaryFixed = 16;
constexpr std::size_t kIpv4Block = 12;
constexpr std::size_t kIpv6Block = 36;
constexpr std::size_t kUnixBlock = 216;

ProxyHeader state(State s) {
  ProxyHeader header;
  header.state = s;
  return header;
}

// Cuts the text up to the next space, or all of it.
std::string_view cut_word(std::string_view& text) {
  const std::size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  return word;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return port;
}

std::optional<base::IpAddress> parse_family(std::string_view text, bool v6) {
  if ((text.find(':') != std::string_view::npos) != v6) return std::nullopt;
  return base::parse_ip(text);
}

ProxyHeader parse_line(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxProxyLine).find("\r\n");
  if (end == std::string_view::npos) return state(bytes.size() >= kMaxProxyLine ? State::malformed : State::incomplete);
  ProxyHeader header = state(State::complete);
  header.length = end + 2;
  std::string_view rest = bytes.substr(kLineStart.size(), end - kLineStart.size());
  const std::string_view family = cut_word(rest);
  if (family == "UNKNOWN") return header;
  if (family != "TCP4" && family != "TCP6") return state(State::malformed);
  const bool v6 = family == "TCP6";
  const std::optional<base::IpAddress> source = parse_family(cut_word(rest), v6);
  const std::optional<base::IpAddress> destination = parse_family(cut_word(rest), v6);
  const std::optional<std::uint16_t> source_port = parse_port(cut_word(rest));
  // The last word is all that is left, so that anything behind the second port makes it no port.
  if (!source || !destination || !source_port || !parse_port(rest)) return state(State::malformed);
  header.source = source;
  header.source_port = *source_port;
  return header;
}

std::uint16_t big_endian(const std::uint8_t* at) { return static_cast<std::uint16_t>(at[0] << 8 | at[1]); }

ProxyHeader parse_binary(std::string_view bytes) {
  if (bytes.size() < kBinaryFixed) return state(State::incomplete);
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const int version = at[12] >> 4;
  const int command = at[12] & 0xf;
  const std::uint8_t family = at[13];
  const std::size_t length = big_endian(at + 14);
  if (version != 2 || command > 1 || kBinaryFixed + length > kMaxProxyBinary) return state(State::malformed);
  if (bytes.size() < kBinaryFixed + length) return state(State::incomplete);
  ProxyHeader header = state(State::complete);
  header.length = kBinaryFixed + length;
  if (command == 0) return header;  // LOCAL: whatever the block holds does not count
  const std::uint8_t* block = at + kBinaryFixed;
  switch (family) {
    case 0x00:  // unspecified
      return header;
    case 0x11:  // TCP over IPv4
      if (length < kIpv4Block) return state(State::malformed);
      header.source = base::ipv4_address(block);
      header.source_port = big_endian(block + 8);
      return header;
    case 0x21:  // TCP over IPv6
      if (length < kIpv6Block) return state(State::malformed);
      header.source = base::ipv6_address(block);
      header.source_port = big_endian(block + 32);
      return header;
    case 0x31:  // a Unix socket
      return length < kUnixBlock ? state(State::malformed) : header;
    default:
      return state(State::malformed);
  }
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view bytes) {
  const auto starts = [&](std::string_view start) {
    const std::size_t seen = std::min(bytes.size(), start.size());
    return bytes.substr(0, seen) == start.substr(0, seen);
  };
  if (starts(kLineStart)) return bytes.size() < kLineStart.size() ? state(State::incomplete) : parse_line(bytes);
  if (starts(kBinaryStart)) return parse_binary(bytes);
  return state(State::malformed);
}

}  // namespace weir::identity
