#include "keys/key_ring.h"

#include "base/ascii.h"
#include "base/bounded_file.h"
#include "base/content_lines.h"

namespace weir::keys {
namespace {

constexpr std::size_t kMaxFileBytes = 4096;

}  // namespace

std::string hash_key_text(const HashKey& key) {
  std::string text;
  for (const std::uint8_t byte : key) base::append_hex(text, byte);
  return text;
}

std::optional<HashKey> parse_hash_key(std::string_view digits) {
  HashKey key{};
  if (digits.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = base::hex_digit(digits[2 * i]);
    const int low = base::hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (key == HashKey{}) return std::nullopt;  // means "none" elsewhere
  return key;
}

Result<KeyRing> load_key_ring(const std::filesystem::path& file) {
  const Result<std::string> text = base::read_bounded_file(file, kMaxFileBytes);
  if (!text.ok()) return text.failure();
  const std::vector<std::string_view> lines = base::content_lines(text.value());
  if (lines.empty() || lines.size() > 2) {
    return Failure{Code::invalid_argument, file.string() + ": expected one or two keys, the current one first"};
  }
  KeyRing ring;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<HashKey> key = parse_hash_key(lines[i]);
    if (!key) {
      return Failure{Code::invalid_argument, file.string() + ": key " + std::to_string(i + 1) +
                                                 " is not a hash key, expected 32 hexadecimal digits"};
    }
    if (i == 0) ring.current = *key;
    if (i == 1) ring.previous = *key;
  }
  if (ring.previous == ring.current) {
    return Failure{Code::invalid_argument, file.string() + ": both keys are the same"};
  }
  return ring;
}

}  // namespace weir::keys
