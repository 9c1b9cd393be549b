// IP addresses and prefixes as values. An IPv4 address is kept in its IPv6-mapped form, so that ::ffff:192.0.2.1 and
// 192.0.2.1 are one address: a client does not get a second bucket by spelling its address differently.
//
//   std::optional<IpAddress> client = parse_ip("2001:db8::7");
//   prefix_text(*client, 64);  // "2001:db8::/64"
//
// Plain values, so thread-safe. No zone ids, no leading zeros, no octal, no short forms such as "127.1".
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::base {

inline constexpr std::size_t kMaxIpText = 45;  // ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255
inline constexpr int kIpv4Bits = 32;
inline constexpr int kIpv6Bits = 128;

struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  bool is_v4() const;
  int width() const { return is_v4() ? kIpv4Bits : kIpv6Bits; }
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

IpAddress ipv4_address(const std::uint8_t* four_bytes);
IpAddress ipv6_address(const std::uint8_t* sixteen_bytes);

std::optional<IpAddress> parse_ip(std::string_view text);
std::string ip_text(const IpAddress& address);

// The address with all but its first `bits` cleared; `bits` counts within the address's own family and is cut to it.
IpAddress network_of(const IpAddress& address, int bits);
// "192.0.2.0/24"; a whole address is written without a slash.
std::string prefix_text(const IpAddress& address, int bits);

// What to do with bits beyond the length of a prefix, as in "10.0.0.1/8".
enum class HostBits : bool { refused, ignored };

// A CIDR block, of either IPv4 or IPv6: ::/0 contains no IPv4 address.
class IpPrefix {
 public:
  // "10.0.0.0/8", "2001:db8::/32" or one address. The length counts the bits of the address as it is written:
  // "::ffff:10.0.0.0/104" is 10.0.0.0/8.
  static std::optional<IpPrefix> parse(std::string_view text, HostBits host_bits = HostBits::refused);

  bool contains(const IpAddress& address) const;
  // True when every address of the other is one of these.
  bool contains(const IpPrefix& other) const { return other.bits_ >= bits_ && contains(other.network_); }

  const IpAddress& network() const { return network_; }
  int bits() const { return bits_; }  // of the 128
  bool is_v4() const { return v4_; }

 private:
  IpPrefix(const IpAddress& network, int bits);

  IpAddress network_;
  int bits_;  // of the 128
  bool v4_;
};

}  // namespace weir::base
