#include "base/base64url.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

std::uint64_t swap_bytes(std::uint64_t word) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}
std::uint64_t read_big_endian(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, 8);
  return swap_bytes(word);
}
void write_big_endian(std::uint64_t word, char* to) {
  word = swap_bytes(word);
  std::memcpy(to, &word, 8);
}

// Two characters for each twelve bits, which takes half of the steps of one for six.
constexpr std::array<std::array<char, 2>, 4096> kPairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kUrlAlphabet[i / 64], kUrlAlphabet[i % 64]};
  return pairs;
}();

void write_pair(std::uint64_t bits, char* out) { std::memcpy(out, kPairs[bits & 4095].data(), 2); }

#if defined(__x86_64__)

bool has_shuffles() { return __builtin_cpu_supports("ssse3") != 0; }

// Twelve bytes at a time (Mula and Lemire, "Faster Base64 encoding and decoding using AVX2 instructions", with half of
// the width): spreads them over 16 sextets, then adds to each what leads to its character. Returns how many bytes were
// encoded: a multiple of 12, of which sixteen could be read.
[[gnu::target("ssse3")]] std::size_t encode_twelves(const char* in, std::size_t left, char* out) {
  const __m128i spread = _mm_set_epi8(10, 11, 9, 10, 7, 8, 6, 7, 4, 5, 3, 4, 1, 2, 0, 1);
  const __m128i shifts = _mm_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                       '0' - 52, '0' - 52, '0' - 52, '-' - 62, '_' - 63, 'A', 0, 0);
  std::size_t done = 0;
  for (; left - done >= 16; done += 12, out += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + done));
    const __m128i pairs = _mm_shuffle_epi8(bytes, spread);
    const __m128i upper = _mm_mulhi_epu16(_mm_and_si128(pairs, _mm_set1_epi32(0x0fc0fc00)), _mm_set1_epi32(0x04000040));
    const __m128i lower = _mm_mullo_epi16(_mm_and_si128(pairs, _mm_set1_epi32(0x003f03f0)), _mm_set1_epi32(0x01000010));
    const __m128i sextets = _mm_or_si128(upper, lower);
    // 0: a to z, 1 to 10: digits, 11 and 12: the last two, 13: A to Z.
    __m128i range = _mm_subs_epu8(sextets, _mm_set1_epi8(51));
    const __m128i capital = _mm_cmpgt_epi8(_mm_set1_epi8(26), sextets);
    range = _mm_or_si128(range, _mm_and_si128(capital, _mm_set1_epi8(13)));
    const __m128i text = _mm_add_epi8(_mm_shuffle_epi8(shifts, range), sextets);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), text);
  }
  return done;
}

#else

bool has_shuffles() { return false; }
std::size_t encode_twelves(const char*, std::size_t, char*) { return 0; }

#endif

}  // namespace

// Eight characters at a time: handles of leases are read on the way of every renewal and release.
std::optional<std::size_t> decode_base64url(std::string_view text, char* out) {
  const char* const begin = out;
  std::size_t left = text.size();
  if (left % 4 == 1) return std::nullopt;
  std::uint32_t wrong = 0;
  const char* in = text.data();
  for (; left >= 8; left -= 8, in += 8, out += 6) {
    // In two halves, which the processor works out at the same time.
    const std::uint32_t a = sextet(in[0]), b = sextet(in[1]), c = sextet(in[2]), d = sextet(in[3]);
    const std::uint32_t e = sextet(in[4]), f = sextet(in[5]), g = sextet(in[6]), h = sextet(in[7]);
    wrong |= (a | b | c | d) | (e | f | g | h);
    const std::uint64_t high = a << 18 | b << 12 | c << 6 | d;
    const std::uint64_t low = e << 18 | f << 12 | g << 6 | h;
    write_big_endian(high << 40 | low << 16, out);
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < left; ++i) {
    const std::uint32_t each = sextet(in[i]);
    wrong |= each;
    word |= std::uint64_t{each} << (58 - 6 * i);
  }
  const std::size_t bytes = left * 3 / 4;
  if (left > 0) write_big_endian(word, out);
  // Bits that no byte has must be 0, so that no two texts mean the same.
  if ((wrong & kNoSextet) != 0 || (left > 0 && word << (8 * bytes) != 0)) return std::nullopt;
  return static_cast<std::size_t>(out - begin) + bytes;
}

void encode_base64url(std::string_view bytes, char* out) {
  const char* in = bytes.data();
  std::size_t left = bytes.size();
  if (left >= 16 && has_shuffles()) {
    const std::size_t done = encode_twelves(in, left, out);
    in += done;
    left -= done;
    out += done / 3 * 4;
  }
  for (; left >= 6; left -= 6, in += 6, out += 8) {
    const std::uint64_t word = read_big_endian(in);
    write_pair(word >> 52, out);
    write_pair(word >> 40, out + 2);
    write_pair(word >> 28, out + 4);
    write_pair(word >> 16, out + 6);
  }
  if (left == 0) return;
  const std::uint64_t word = read_big_endian(in) & ~std::uint64_t{0} << (64 - 8 * left);
  for (std::size_t i = 0; i < base64url_size(left); ++i) out[i] = kUrlAlphabet[word >> (58 - 6 * i) & 63];
}

std::optional<std::string> decode_base64url(std::string_view text) {
  std::string bytes(text.size() * 3 / 4 + kBase64urlSlack, '\0');
  const std::optional<std::size_t> size = decode_base64url(text, bytes.data());
  if (!size) return std::nullopt;
  bytes.resize(*size);
  return bytes;
}

std::string encode_base64url(std::string_view bytes) {
  std::string padded;
  padded.reserve(bytes.size() + kBase64urlSlack);
  padded.assign(bytes).append(kBase64urlSlack, '\0');
  std::string text(base64url_size(bytes.size()), '\0');
  encode_base64url(std::string_view(padded).substr(0, bytes.size()), text.data());
  return text;
}

}  // namespace weir::base
