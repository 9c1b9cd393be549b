#include "rules/read/yaml_values.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>

#include "rules/compile/fault_list.h"

namespace weir::rules {
namespace {

Failure wrong(const base::YamlNode& node, std::string_view expected) {
  return {Code::invalid_argument, "is " + describe(node) + ", expected " + std::string(expected)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits only, with an optional minus sign: nothing that one reader takes for decimal and another for octal or a date.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits.starts_with('0')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads fixed positions of a timestamp.
class InstantReader {
 public:
  explicit InstantReader(std::string_view text) : rest_(text) {}

  // Exactly `digits` digits within bounds.
  int number(std::size_t digits, int least, int most) {
    if (rest_.size() < digits) return fail();
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return fail();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    if (value < least || value > most) return fail();
    return value;
  }
  void letter(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) {
      fail();
    } else {
      rest_.remove_prefix(1);
    }
  }
  // ".123456789" as microseconds; nothing is 0.
  int fraction() {
    if (rest_.empty() || rest_.front() != '.') return 0;
    rest_.remove_prefix(1);
    int value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
      if (digits < 6) value = value * 10 + (rest_[digits] - '0');
    }
    if (digits == 0) return fail();
    rest_.remove_prefix(digits);
    for (std::size_t i = digits; i < 6; ++i) value *= 10;
    return value;
  }
  // "Z", "+02:00", "-05:30".
  std::chrono::minutes offset() {
    if (rest_ == "Z" || rest_ == "z") {
      rest_ = {};
      return std::chrono::minutes(0);
    }
    const bool west = !rest_.empty() && rest_.front() == '-';
    letter("+-");
    const int hours = number(2, 0, 23);
    letter(":");
    const std::chrono::minutes east = std::chrono::hours(hours) + std::chrono::minutes(number(2, 0, 59));
    return west ? -east : east;
  }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  int fail() {
    ok_ = false;
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string describe(const base::YamlNode& node) {
  switch (node.kind()) {
    case base::YamlNode::Kind::null:
      return "empty";
    case base::YamlNode::Kind::sequence:
      return "a list";
    case base::YamlNode::Kind::map:
      return "a map";
    case base::YamlNode::Kind::scalar:
      break;
  }
  return in_quotes(node.text());
}

Result<std::string> read_text(const base::YamlNode& node) {
  if (!node.is_scalar()) return wrong(node, "a text");
  return node.text();
}

Result<std::int64_t> read_whole_number(const base::YamlNode& node, std::int64_t least, std::int64_t most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  if (!node.is_scalar()) return wrong(node, "a whole number, " + range);
  const std::optional<std::int64_t> value = whole_number(node.text());
  if (!value) return wrong(node, "a whole number, " + range);
  if (*value < least || *value > most) {
    return Failure{Code::out_of_range, "is " + std::to_string(*value) + ", expected " + range};
  }
  return *value;
}

Result<std::int64_t> read_percent(const base::YamlNode& node, std::int64_t least, std::int64_t most) {
  const auto wrong = [&] {
    return Failure{Code::invalid_argument, "is " + describe(node) + ", expected " + std::to_string(least) + "% to " +
                                               std::to_string(most) + "%"};
  };
  if (!node.is_scalar()) return wrong();
  const std::string_view text = node.text();
  if (text.size() < 2 || text.size() > 4 || text.back() != '%') return wrong();
  std::int64_t value = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return wrong();
    value = value * 10 + (digit - '0');
  }
  if (value < least || value > most) return wrong();
  return value;
}

Result<bool> read_bool(const base::YamlNode& node) {
  if (node.is_scalar() && node.text() == "true") return true;
  if (node.is_scalar() && node.text() == "false") return false;
  return wrong(node, "true or false");
}

Result<Duration> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t micros;
  };
  static constexpr Unit kUnits[] = {{"us", 1},
                                    {"ms", 1'000},
                                    {"s", 1'000'000},
                                    {"m", 60'000'000},
                                    {"h", std::int64_t{3'600} * 1'000'000},
                                    {"d", std::int64_t{86'400} * 1'000'000}};
  const Failure failure{Code::invalid_argument,
                        "is " + in_quotes(text) + ", expected a whole number and ms, s, m, h or d, as in 60s"};
  const auto digits = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  const std::optional<std::int64_t> count = whole_number(text.substr(0, digits));
  if (!count) return failure;
  for (const Unit& unit : kUnits) {
    if (text.substr(digits) != unit.name) continue;
    if (*count > std::numeric_limits<std::int64_t>::max() / unit.micros) {
      return Failure{Code::out_of_range, "is " + in_quotes(text) + ", which is too long"};
    }
    return Duration(*count * unit.micros);
  }
  return failure;
}

Result<TimePoint> parse_instant(std::string_view text) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  InstantReader reader(text);
  const int y = reader.number(4, 1, 9999);
  reader.letter("-");
  const int m = reader.number(2, 1, 12);
  reader.letter("-");
  const int d = reader.number(2, 1, 31);
  reader.letter("Tt");
  const std::chrono::hours hours(reader.number(2, 0, 23));
  reader.letter(":");
  const std::chrono::minutes minutes(reader.number(2, 0, 59));
  reader.letter(":");
  const std::chrono::seconds seconds(reader.number(2, 0, 59));
  const Duration fraction(reader.fraction());
  const std::chrono::minutes offset = reader.offset();
  const std::chrono::year_month_day date(year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d)));
  if (!reader.done() || !date.ok()) {
    return Failure{
        Code::invalid_argument,
        "is " + in_quotes(text) + ", expected a time as in 2026-12-31T00:00:00Z or 2026-12-31T01:00:00+01:00"};
  }
  return TimePoint(std::chrono::sys_days(date)) + hours + minutes + seconds + fraction - offset;
}

Result<Duration> read_duration(const base::YamlNode& node) {
  if (!node.is_scalar()) return wrong(node, "a whole number and ms, s, m, h or d, as in 60s");
  return parse_duration(node.text());
}

Result<TimePoint> read_instant(const base::YamlNode& node) {
  if (!node.is_scalar()) return wrong(node, "a time as in 2026-12-31T00:00:00Z");
  return parse_instant(node.text());
}

std::string fault_at(std::string_view file, const base::YamlNode& node, std::string_view field, std::string_view what) {
  std::string line(file);
  line += ':' + std::to_string(node.line()) + ':' + std::to_string(node.column()) + ": ";
  if (!field.empty()) line.append(field).append(": ");
  return line.append(what);
}

}  // namespace weir::rules
