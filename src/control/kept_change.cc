#include "control/kept_change.h"

#include <charconv>
#include <fstream>

namespace weir::control {
namespace {

std::optional<std::size_t> take_count(std::string_view& rest) {
  std::size_t count = 0;
  const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  const auto length = static_cast<std::size_t>(after - rest.data());
  if (error != std::errc{} || length >= rest.size() || rest[length] != ':') return std::nullopt;
  rest.remove_prefix(length + 1);
  return count;
}

std::optional<std::string_view> take_bytes(std::string_view& rest) {
  const std::optional<std::size_t> size = take_count(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  const std::string_view bytes = rest.substr(0, *size);
  rest.remove_prefix(*size);
  return bytes;
}

void append_bytes(std::string& out, std::string_view bytes) {
  out.append(std::to_string(bytes.size()) + ":").append(bytes);
}

}  // namespace

std::optional<KeptChange> take_kept_change(std::string_view& rest) {
  if (!rest.starts_with('c')) return std::nullopt;
  rest.remove_prefix(1);
  const std::optional<std::size_t> count = take_count(rest);
  KeptChange change;
  for (std::size_t i = 0; count && i < *count; ++i) {
    const std::optional<std::string_view> key = take_bytes(rest);
    if (!key) return std::nullopt;
    change.keys.emplace_back(*key);
  }
  const std::optional<std::string_view> text = count ? take_bytes(rest) : std::nullopt;
  if (!text) return std::nullopt;
  change.text = *text;
  return change;
}

Status append_kept_change(const std::filesystem::path& path, const std::vector<std::string>& keys,
                          std::string_view text) {
  std::string out = "c" + std::to_string(keys.size()) + ":";
  for (const std::string& key : keys) append_bytes(out, key);
  append_bytes(out, text);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(out.data(), static_cast<std::streamsize>(out.size()));
  file.close();
  if (!file) return Failure{Code::unavailable, path.string() + ": cannot be written"};
  return success();
}

}  // namespace weir::control
