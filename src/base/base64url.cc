#include "base/base64url.h"

#include <array>
#include <cstdint>

namespace weir::base {
namespace {

constexpr char kUrlAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// In the table below: a character that is not in the alphabet. No sextet has this bit.
constexpr std::uint32_t kNoSextet = 0x80;

constexpr std::array<std::uint8_t, 256> kSextets = [] {
  std::array<std::uint8_t, 256> sextets{};
  sextets.fill(kNoSextet);
  for (std::uint8_t i = 0; i < 64; ++i) sextets[static_cast<unsigned char>(kUrlAlphabet[i])] = i;
  return sextets;
}();

std::uint32_t sextet(char c) { return kSextets[static_cast<unsigned char>(c)]; }

}  // namespace

// Four characters at a time: handles of leases are read on the way of every renewal and release.
std::optional<std::string> decode_base64url(std::string_view text) {
  const std::size_t rest = text.size() % 4;
  if (rest == 1) return std::nullopt;
  std::string bytes(text.size() / 4 * 3 + (rest > 0 ? rest - 1 : 0), '\0');
  char* out = bytes.data();
  std::uint32_t wrong = 0;
  const char* in = text.data();
  for (const char* const end = in + (text.size() - rest); in < end; in += 4, out += 3) {
    const std::uint32_t a = sextet(in[0]), b = sextet(in[1]), c = sextet(in[2]), d = sextet(in[3]);
    wrong |= a | b | c | d;
    out[0] = static_cast<char>(a << 2 | b >> 4);
    out[1] = static_cast<char>(b << 4 | c >> 2);
    out[2] = static_cast<char>(c << 6 | d);
  }
  if (rest > 0) {
    const std::uint32_t a = sextet(in[0]), b = sextet(in[1]), c = rest == 3 ? sextet(in[2]) : 0;
    wrong |= a | b | c;
    out[0] = static_cast<char>(a << 2 | b >> 4);
    if (rest == 3) out[1] = static_cast<char>(b << 4 | c >> 2);
    // Bits that no byte has must be 0, so that no two texts mean the same.
    if ((rest == 3 ? c & 3 : b & 15) != 0) return std::nullopt;
  }
  if ((wrong & kNoSextet) != 0) return std::nullopt;
  return bytes;
}

std::string encode_base64url(std::string_view bytes) {
  const std::size_t rest = bytes.size() % 3;
  std::string text((bytes.size() * 4 + 2) / 3, '\0');
  char* out = text.data();
  const auto* in = reinterpret_cast<const unsigned char*>(bytes.data());
  for (const unsigned char* const end = in + (bytes.size() - rest); in < end; in += 3, out += 4) {
    out[0] = kUrlAlphabet[in[0] >> 2];
    out[1] = kUrlAlphabet[(in[0] << 4 | in[1] >> 4) & 63];
    out[2] = kUrlAlphabet[(in[1] << 2 | in[2] >> 6) & 63];
    out[3] = kUrlAlphabet[in[2] & 63];
  }
  if (rest > 0) {
    out[0] = kUrlAlphabet[in[0] >> 2];
    out[1] = kUrlAlphabet[(in[0] << 4 | (rest == 2 ? in[1] >> 4 : 0)) & 63];
    if (rest == 2) out[2] = kUrlAlphabet[in[1] << 2 & 63];
  }
  return text;
}

}  // namespace weir::base
