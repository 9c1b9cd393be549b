#include "frontends/http2/header_decoder.h"

namespace weir::http2 {
namespace {

constexpr unsigned char kIndexedMark = 0x80;
constexpr unsigned char kRememberedMark = 0x40;
constexpr unsigned char kTableSizeMark = 0x20;
constexpr int kLiteralBits = 4;
constexpr int kIndexedBits = 7;
constexpr int kTextBits = 7;
// A number of more bytes is no length that fits a block.
constexpr int kMaxShift = 21;

// Takes a number off the front, whose first byte has `bits` of it (RFC 7541, section 5.1). False: there is none.
bool take_number(std::string_view& block, int bits, std::size_t& number) {
  if (block.empty()) return false;
  const std::size_t most = (std::size_t{1} << bits) - 1;
  number = static_cast<unsigned char>(block.front()) & most;
  block.remove_prefix(1);
  if (number < most) return true;
  for (int shift = 0; shift <= kMaxShift && !block.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(block.front());
    block.remove_prefix(1);
    number += static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool skip_text(std::string_view& block) {
  std::size_t size = 0;
  if (!take_number(block, kTextBits, size) || size > block.size()) return false;
  block.remove_prefix(size);
  return true;
}

}  // namespace

bool HeaderDecoder::leaves_table(std::string_view block) {
  while (!block.empty()) {
    const auto first = static_cast<unsigned char>(block.front());
    std::size_t place = 0;
    if ((first & kIndexedMark) != 0) {
      if (!take_number(block, kIndexedBits, place)) return false;
      continue;
    }
    if ((first & (kRememberedMark | kTableSizeMark)) != 0) return false;
    if (!take_number(block, kLiteralBits, place)) return false;
    if (place == 0 && !skip_text(block)) return false;
    if (!skip_text(block)) return false;
  }
  return true;
}

}  // namespace weir::http2
