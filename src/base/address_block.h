// AddressBlock: a CIDR block of IPv4 or IPv6 addresses. An IPv4-mapped IPv6 address (::ffff:192.0.2.1) counts as the
// IPv4 address that it is. Plain value; does not allocate to match.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::base {

class AddressBlock {
 public:
  // "10.0.0.0/8", "2001:db8::/32", or one address. Bits behind the prefix are ignored.
  static std::optional<AddressBlock> parse(std::string_view text);

  // False for a text that is not an address.
  bool contains(std::string_view address) const;

 private:
  // IPv4 addresses are kept as IPv4-mapped ones.
  using Bytes = std::array<std::uint8_t, 16>;
  static constexpr int kMappedBits = 96;

  static std::optional<Bytes> parse_address(std::string_view text);
  static bool is_ipv4(const Bytes& bytes);

  Bytes bytes_{};
  int prefix_ = 0;     // in bits, of the 128
  bool ipv4_ = false;  // ::/0 is all of IPv6 and none of IPv4
};

}  // namespace weir::base
