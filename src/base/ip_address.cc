#include "base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace weir::base {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMappedBits = 8 * kMapped.size();

// The address with all but its first `bits` of the 128 cleared.
IpAddress first_bits(const IpAddress& address, int bits) {
  IpAddress network = address;
  for (int i = 0; i < 16; ++i) {
    const int in_byte = std::clamp(bits - 8 * i, 0, 8);
    network.bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> in_byte);
  }
  return network;
}

}  // namespace

bool IpAddress::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

IpAddress ipv4_address(const std::uint8_t* four_bytes) {
  IpAddress address;
  std::copy(kMapped.begin(), kMapped.end(), address.bytes.begin());
  std::copy_n(four_bytes, 4, address.bytes.begin() + kMapped.size());
  return address;
}

IpAddress ipv6_address(const std::uint8_t* sixteen_bytes) {
  IpAddress address;
  std::copy_n(sixteen_bytes, 16, address.bytes.begin());
  return address;
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.empty() || text.size() > kMaxIpText || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::array<char, kMaxIpText + 1> terminated{};
  std::copy(text.begin(), text.end(), terminated.begin());
  std::array<std::uint8_t, 16> bytes{};
  if (text.find(':') == std::string_view::npos) {
    if (::inet_pton(AF_INET, terminated.data(), bytes.data()) != 1) return std::nullopt;
    return ipv4_address(bytes.data());
  }
  if (::inet_pton(AF_INET6, terminated.data(), bytes.data()) != 1) return std::nullopt;
  return ipv6_address(bytes.data());
}

std::string ip_text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.is_v4()) {
    ::inet_ntop(AF_INET, address.bytes.data() + kMapped.size(), text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
  }
  return text.data();
}

IpAddress network_of(const IpAddress& address, int bits) {
  return first_bits(address, std::clamp(bits, 0, address.width()) + (kIpv6Bits - address.width()));
}

std::string prefix_text(const IpAddress& address, int bits) {
  const int kept = std::clamp(bits, 0, address.width());
  std::string text = ip_text(network_of(address, kept));
  if (kept < address.width()) text += "/" + std::to_string(kept);
  return text;
}

IpPrefix::IpPrefix(const IpAddress& network, int bits)
    : network_(network), bits_(bits), v4_(bits >= kMappedBits && network.is_v4()) {}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text, HostBits host_bits) {
  const std::size_t slash = text.find('/');
  const std::string_view written = text.substr(0, slash);
  const std::optional<IpAddress> address = parse_ip(written);
  if (!address) return std::nullopt;
  int bits = kIpv6Bits;
  if (slash != std::string_view::npos) {
    const int before = written.find(':') == std::string_view::npos ? kMappedBits : 0;
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    if (bits < 0 || bits > kIpv6Bits - before || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
    bits += before;
  }
  const IpAddress network = first_bits(*address, bits);
  if (host_bits == HostBits::refused && network != *address) return std::nullopt;
  return IpPrefix(network, bits);
}

bool IpPrefix::contains(const IpAddress& address) const {
  if (address.is_v4() != v4_) return false;
  const auto whole = static_cast<std::size_t>(bits_ / 8);
  if (std::memcmp(address.bytes.data(), network_.bytes.data(), whole) != 0) return false;
  const int rest = bits_ % 8;
  return rest == 0 || (address.bytes[whole] ^ network_.bytes[whole]) >> (8 - rest) == 0;
}

}  // namespace weir::base
