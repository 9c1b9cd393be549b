#include "base/address_block.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace weir::base {

std::optional<AddressBlock::Bytes> AddressBlock::parse_address(std::string_view text) {
  char buffer[INET6_ADDRSTRLEN + 1];
  if (text.empty() || text.size() >= sizeof buffer || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';

  Bytes bytes{};
  if (text.find(':') != std::string_view::npos) {
    if (::inet_pton(AF_INET6, buffer, bytes.data()) != 1) return std::nullopt;
  } else {
    bytes[10] = bytes[11] = 0xff;
    if (::inet_pton(AF_INET, buffer, bytes.data() + 12) != 1) return std::nullopt;
  }
  return bytes;
}

bool AddressBlock::is_ipv4(const Bytes& bytes) {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
         bytes[10] == 0xff && bytes[11] == 0xff;
}

std::optional<AddressBlock> AddressBlock::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  const std::optional<Bytes> bytes = parse_address(address);
  if (!bytes) return std::nullopt;

  const int shift = address.find(':') == std::string_view::npos ? kMappedBits : 0;
  AddressBlock block;
  block.prefix_ = 128;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    int length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc() || end != digits.data() + digits.size() || length < 0 || length > 128 - shift) {
      return std::nullopt;
    }
    block.prefix_ = length + shift;
  }
  block.bytes_ = *bytes;
  block.ipv4_ = block.prefix_ >= kMappedBits && is_ipv4(*bytes);
  return block;
}

bool AddressBlock::contains(std::string_view address) const {
  const std::optional<Bytes> bytes = parse_address(address);
  if (!bytes || is_ipv4(*bytes) != ipv4_) return false;
  const int whole = prefix_ / 8;
  if (!std::equal(bytes_.begin(), bytes_.begin() + whole, bytes->begin())) return false;
  const int rest = prefix_ % 8;
  if (rest == 0) return true;
  const auto difference =
      static_cast<unsigned>(bytes_[static_cast<std::size_t>(whole)] ^ (*bytes)[static_cast<std::size_t>(whole)]);
  return difference >> (8 - rest) == 0;
}

}  // namespace weir::base
