#include "frontends/render/decision_headers.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/json_text.h"
#include "frontends/render/quota_time.h"
#include "weir/time.h"

namespace weir::render {
namespace {

bool told(const RuleOutcome& rule) { return rule.mode == Mode::enforce && !rule.unlimited; }

// A String of RFC 9651: printable ASCII, with quote and backslash escaped.
void append_sf_string(std::string& out, std::string_view text) {
  out += '"';
  const std::size_t plain = base::plain_prefix(text);
  out.append(text.data(), plain);
  for (const char c : text.substr(plain)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= 0x20 && c < 0x7f ? c : '?';
  }
  out += '"';
}

std::int64_t seconds_to_more(const RuleOutcome& rule) { return ceil_seconds(time_to_more_quota(rule)); }

Duration time_to_reset(const RuleOutcome& rule) {
  const bool wait_helps = !rule.allowed && rule.retry_after.count() > 0;
  return wait_helps ? rule.retry_after : rule.reset_after;
}

void append_number_line(std::string& out, std::string_view name, std::int64_t value) {
  out += name;
  base::append_number(out, value);
  out += "\r\n";
}

// Appends a field's line if there is any rule to show.
template <typename AppendValue>
void append_line(std::string& out, std::string_view name, AppendValue append_value) {
  const std::size_t before = out.size();
  out += name;
  const std::size_t value = out.size();
  append_value();
  if (out.size() == value) {
    out.resize(before);
  } else {
    out += "\r\n";
  }
}

}  // namespace

void append_rate_limit_policy(std::string& out, const Decision& decision) {
  bool first = true;
  for (const RuleOutcome& rule : decision.rules) {
    if (!told(rule)) continue;
    if (!first) out += ", ";
    first = false;
    append_sf_string(out, rule.rule);
    out += ";q=";
    base::append_number(out, std::max<std::int64_t>(rule.limit, 0));
    if (rule.window.count() > 0) {
      out += ";w=";
      base::append_number(out, ceil_seconds(rule.window));
    }
  }
}

void append_rate_limit(std::string& out, const Decision& decision) {
  bool first = true;
  for (const RuleOutcome& rule : decision.rules) {
    if (!told(rule)) continue;
    if (!first) out += ", ";
    first = false;
    append_sf_string(out, rule.rule);
    out += ";r=";
    base::append_number(out, std::max<std::int64_t>(rule.remaining, 0));
    if (const std::int64_t seconds = seconds_to_more(rule); seconds > 0) {
      out += ";t=";
      base::append_number(out, seconds);
    }
  }
}

std::int64_t retry_after_seconds(const Decision& decision) {
  if (decision.allowed || decision.reason == Reason::cost_too_large || decision.reason == Reason::no_rule) return 0;
  const bool no_wait = decision.retry_after == Duration::zero();
  if (no_wait && decision.reason == Reason::blocked) return 0;
  const RuleOutcome* const decisive = decision.decisive();
  // A limit of 0, perhaps of a hidden rule.
  if (decisive != nullptr ? decisive->too_large : no_wait && decision.reason == Reason::limit_exceeded) return 0;
  std::int64_t seconds = std::max<std::int64_t>(1, ceil_seconds(decision.retry_after));
  for (const RuleOutcome& rule : decision.rules) {
    if (told(rule) && !rule.allowed) seconds = std::max(seconds, seconds_to_more(rule));
  }
  return seconds;
}

std::optional<LimitNumbers> limit_numbers(const Decision& decision, const HeaderOptions& options) {
  const RuleOutcome* const rule = decision.decisive();
  if (rule == nullptr || rule->unlimited) return std::nullopt;
  const Duration wait = time_to_reset(*rule);
  const std::int64_t reset = options.reset_as_unix_time ? ceil_unix_seconds(decision.at + wait) : ceil_seconds(wait);
  return LimitNumbers{rule->limit, std::max<std::int64_t>(rule->remaining, 0), reset};
}

void append_decision_fields(std::string& out, const Decision& decision, const HeaderOptions& options) {
  if (options.ietf) {
    append_line(out, "RateLimit-Policy: ", [&] { append_rate_limit_policy(out, decision); });
    append_line(out, "RateLimit: ", [&] { append_rate_limit(out, decision); });
  }
  if (const std::int64_t seconds = retry_after_seconds(decision); seconds > 0) {
    append_number_line(out, "Retry-After: ", seconds);
  }
  if (!options.x_ratelimit && !options.ratelimit_legacy) return;
  const std::optional<LimitNumbers> numbers = limit_numbers(decision, options);
  if (!numbers) return;
  if (options.x_ratelimit) {
    append_number_line(out, "X-RateLimit-Limit: ", numbers->limit);
    append_number_line(out, "X-RateLimit-Remaining: ", numbers->remaining);
    append_number_line(out, "X-RateLimit-Reset: ", numbers->reset);
  }
  if (options.ratelimit_legacy) {
    append_number_line(out, "RateLimit-Limit: ", numbers->limit);
    append_number_line(out, "RateLimit-Remaining: ", numbers->remaining);
    append_number_line(out, "RateLimit-Reset: ", numbers->reset);
  }
}

Result<HeaderOptions> parse_header_names(std::span<const std::string> names) {
  HeaderOptions options;
  options.ietf = false;
  if (names.size() == 1 && names.front() == "off") return options;
  for (const std::string& name : names) {
    bool* const flag = name == "ietf"               ? &options.ietf
                       : name == "x-ratelimit"      ? &options.x_ratelimit
                       : name == "ratelimit-legacy" ? &options.ratelimit_legacy
                                                    : nullptr;
    if (flag == nullptr) {
      return Failure{Code::invalid_argument,
                     "has the entry '" + name + "', expected ietf, x-ratelimit or ratelimit-legacy, or off alone"};
    }
    if (*flag) return Failure{Code::invalid_argument, "has '" + name + "' twice"};
    *flag = true;
  }
  return options;
}

}  // namespace weir::render
