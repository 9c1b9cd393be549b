#include "base/tz_rule.h"

#include <charconv>

namespace weir::base {

using std::chrono::seconds;

// Reads the text from left to right; each function says whether its part was there.
class TzRule::Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool rule(TzRule& out) {
    if (!name() || !offset(out.standard_)) return false;
    out.standard_ = -out.standard_;  // POSIX counts west of Greenwich
    if (rest_.empty()) return true;
    Summer summer;
    if (!name()) return false;
    summer.offset = out.standard_ + std::chrono::hours(1);
    if (!rest_.empty() && rest_.front() != ',') {
      if (!offset(summer.offset)) return false;
      summer.offset = -summer.offset;
    }
    if (!taken(',') || !date(summer.begins) || !taken(',') || !date(summer.ends) || !rest_.empty()) return false;
    out.summer_ = summer;
    return true;
  }

 private:
  bool taken(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool name() {
    const bool quoted = taken('<');
    std::size_t size = 0;
    while (size < rest_.size() && in_name(rest_[size], quoted)) ++size;
    rest_.remove_prefix(size);
    return size >= 3 && (!quoted || taken('>'));
  }

  static bool in_name(char c, bool quoted) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-');
  }

  template <typename Number>
  bool number(Number& out, Number most) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (error != std::errc() || out > most || rest_.front() == '-') return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }

  // [+-]hh[:mm[:ss]]
  bool offset(seconds& out) {
    const bool negative = taken('-');
    if (!negative) taken('+');
    int parts[3] = {0, 0, 0};
    if (!number(parts[0], 167)) return false;
    for (int i = 1; i < 3 && taken(':'); ++i) {
      if (!number(parts[i], 59)) return false;
    }
    out = seconds(parts[0] * 3600 + parts[1] * 60 + parts[2]);
    if (negative) out = -out;
    return true;
  }

  bool date(Date& out) {
    if (taken('M')) {
      out.kind = Date::Kind::month_week_day;
      if (!number(out.month, 12U) || out.month < 1 || !taken('.')) return false;
      if (!number(out.week, 5U) || out.week < 1 || !taken('.') || !number(out.weekday, 6U)) return false;
    } else if (taken('J')) {
      out.kind = Date::Kind::day_without_leap;
      if (!number(out.day, 365) || out.day < 1) return false;
    } else {
      out.kind = Date::Kind::day_with_leap;
      if (!number(out.day, 365)) return false;
    }
    return !taken('/') || offset(out.time);
  }

  std::string_view rest_;
};

std::optional<TzRule> TzRule::parse(std::string_view text) {
  TzRule rule;
  if (!Reader(text).rule(rule)) return std::nullopt;
  return rule;
}

std::chrono::local_seconds TzRule::Date::of(std::chrono::year year) const {
  using namespace std::chrono;  // NOLINT: dates are unreadable without
  local_days date_of_change;
  if (kind == Kind::month_week_day) {
    const year_month in = year / std::chrono::month(month);
    date_of_change = week == 5 ? local_days(in / std::chrono::weekday(weekday)[last])
                               : local_days(in / std::chrono::weekday(weekday)[week]);
  } else {
    date_of_change = local_days(year / January / 1) + days(kind == Kind::day_without_leap ? day - 1 : day);
    // Day 60 of `J` is 1 March in every year.
    if (kind == Kind::day_without_leap && day >= 60 && year.is_leap()) date_of_change += days(1);
  }
  return date_of_change + time;
}

std::array<TzRule::Change, 2> TzRule::of(std::chrono::year year) const {
  const Change begin{std::chrono::sys_seconds(summer_->begins.of(year).time_since_epoch() - standard_),
                     summer_->offset};
  const Change end{std::chrono::sys_seconds(summer_->ends.of(year).time_since_epoch() - summer_->offset), standard_};
  if (begin.at < end.at) return {begin, end};
  return {end, begin};  // summer south of the equator spans the turn of the year
}

}  // namespace weir::base
