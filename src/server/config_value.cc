#include "server/config_value.h"

#include <charconv>
#include <optional>

namespace weir::server {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;
};

// The units that texts are written with come first of their size.
constexpr Unit kSizes[] = {{"GiB", std::int64_t{1} << 30}, {"MiB", 1 << 20},  {"KiB", 1 << 10}, {"B", 1},
                           {"GB", 1'000'000'000},          {"MB", 1'000'000}, {"KB", 1'000},    {"", 1}};
constexpr Unit kTimes[] = {{"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000},
                           {"s", 1'000'000},      {"ms", 1'000},        {"us", 1}};

Failure unexpected_value(std::string message) { return {Code::invalid_argument, std::move(message)}; }

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  if (text.empty()) return "nothing";
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "…'" : "'");
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// A number with one of `units` behind it; nothing if it is not one or does not fit in 64 bits.
template <std::size_t N>
std::optional<std::int64_t> scaled_number(std::string_view text, const Unit (&units)[N]) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::int64_t> number = whole_number(text.substr(0, digits));
  if (!number) return std::nullopt;
  std::string_view name = text.substr(digits);
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : units) {
    std::int64_t value = 0;
    if (name == unit.name && !__builtin_mul_overflow(*number, unit.scale, &value)) return value;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string shortest_text(std::int64_t value, const Unit (&units)[N]) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.scale == 0) return std::to_string(value / unit.scale) + std::string(unit.name);
  }
  return "0";
}

}  // namespace

Result<std::int64_t> parse_count(std::string_view text, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = whole_number(text);
  if (!value || *value < least || *value > most) {
    return unexpected_value("is " + quoted(text) + ", expected a whole number from " + std::to_string(least) + " to " +
                            std::to_string(most));
  }
  return *value;
}

Result<std::int64_t> parse_size(std::string_view text, std::int64_t least, std::int64_t most) {
  const std::optional<std::int64_t> value = scaled_number(text, kSizes);
  if (!value || *value < least || *value > most) {
    return unexpected_value("is " + quoted(text) + ", expected a size such as 256MiB, from " + size_text(least) +
                            " to " + size_text(most));
  }
  return *value;
}

Result<Duration> parse_duration(std::string_view text, Duration least, Duration most) {
  const std::optional<std::int64_t> value = scaled_number(text, kTimes);
  if (!value || *value < least.count() || *value > most.count()) {
    return unexpected_value("is " + quoted(text) + ", expected a time such as 250ms, 30s or 5m, from " +
                            duration_text(least) + " to " + duration_text(most));
  }
  return Duration(*value);
}

Result<std::int64_t> parse_share(std::string_view text) {
  constexpr std::int64_t kWhole = 1'000'000;
  constexpr std::size_t kMaxDecimals = 6;
  const Failure wrong =
      unexpected_value("is " + quoted(text) + ", expected off, or a share from 1/1000000 to 1, such as 1/100 or 0.01");
  if (text == "off" || text == "0") return 0;
  if (text == "1") return kWhole;
  if (text.starts_with("1/")) {
    const std::optional<std::int64_t> parts = whole_number(text.substr(2));
    if (!parts || *parts < 1 || *parts > kWhole) return wrong;
    return (kWhole + *parts - 1) / *parts;
  }
  if (!text.starts_with("0.") || text.size() > 2 + kMaxDecimals) return wrong;
  std::string digits(text.substr(2));
  digits.resize(kMaxDecimals, '0');
  const std::optional<std::int64_t> share = whole_number(digits);
  if (!share || text.size() == 2) return wrong;
  return *share;
}

Result<bool> parse_switch(std::string_view text) {
  if (text == "true" || text == "on" || text == "yes") return true;
  if (text == "false" || text == "off" || text == "no") return false;
  return unexpected_value("is " + quoted(text) + ", expected true or false");
}

Result<std::vector<std::string>> parse_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (part.empty()) return unexpected_value("has an empty entry, expected a list such as 'one,two'");
    parts.emplace_back(part);
    if (comma + 1 == text.size()) return unexpected_value("ends in a comma, expected a list such as 'one,two'");
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_pairs(std::string_view text) {
  const Result<std::vector<std::string>> parts = parse_list(text);
  if (!parts.ok()) return parts.failure();
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& part : parts.value()) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return unexpected_value("has the entry '" + part + "', expected entries such as 'name=text'");
    }
    pairs.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return pairs;
}

std::string size_text(std::int64_t bytes) { return shortest_text(bytes, kSizes); }

std::string duration_text(Duration duration) {
  return duration.count() == 0 ? "0s" : shortest_text(duration.count(), kTimes);
}

}  // namespace weir::server
