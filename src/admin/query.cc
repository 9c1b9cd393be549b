#include "admin/query.h"

#include <algorithm>
#include <charconv>

#include "admin/members.h"
#include "base/base64url.h"
#include "base/percent.h"
#include "frontends/http/json_body.h"
#include "rules/read/yaml_values.h"

namespace weir::admin {
namespace {

constexpr std::size_t kMaxParameters = 100;

bool decode(std::string_view part, std::string& out) {
  std::string spaced(part);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return base::decode_percent(spaced, out) && !text_fault(out, {.least = 0, .most = 8192});
}

}  // namespace

std::string next_cursor(std::string_view list, std::string_view after) {
  return base::encode_base64url(std::string(list) + ":" + std::string(after));
}

Query::Query(std::string_view text) {
  while (!text.empty() && !fault_) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    Parameter parameter;
    if (!decode(part.substr(0, equals), parameter.name) ||
        !decode(part.substr(std::min(equals + 1, part.size())), parameter.value)) {
      fault_ = "the query has an invalid percent escape, or text that is not UTF-8";
    } else if (std::any_of(parameters_.begin(), parameters_.end(),
                           [&](const Parameter& known) { return known.name == parameter.name; })) {
      fail(http::shown(parameter.name), "is there twice");
    } else if (parameters_.size() == kMaxParameters) {
      fault_ = "the query has too many parameters";
    }
    parameters_.push_back(std::move(parameter));
  }
}

void Query::fail(std::string_view name, const std::string& what) {
  if (!fault_) fault_ = std::string(name) + ": " + what;
}

std::optional<std::string> Query::text(std::string_view name) {
  for (Parameter& each : parameters_) {
    if (each.name != name) continue;
    each.asked = true;
    return each.value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Query::number(std::string_view name, std::int64_t least, std::int64_t most) {
  const std::optional<std::string> given = text(name);
  if (!given) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), number);
  if (error == std::errc() && end == given->data() + given->size() && number >= least && number <= most) return number;
  fail(name, "is '" + http::shown(*given) + "', expected a whole number from " + std::to_string(least) + " to " +
                 std::to_string(most));
  return std::nullopt;
}

std::optional<TimePoint> Query::time(std::string_view name) {
  const std::optional<std::string> given = text(name);
  if (!given) return std::nullopt;
  const Result<TimePoint> time = rules::parse_instant(*given);
  if (time.ok()) return time.value();
  fail(name, "is '" + http::shown(*given) + "', expected a time such as 2026-12-31T00:00:00Z");
  return std::nullopt;
}

std::optional<std::string> Query::choice(std::string_view name, std::initializer_list<std::string_view> choices) {
  const std::optional<std::string> given = text(name);
  if (!given || std::find(choices.begin(), choices.end(), *given) != choices.end()) return given;
  std::string list;
  for (const std::string_view each : choices) list += (list.empty() ? "" : ", ") + std::string(each);
  fail(name, "is '" + http::shown(*given) + "', expected one of " + list);
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> Query::prefixed(std::string_view prefix) {
  std::vector<std::pair<std::string, std::string>> found;
  for (Parameter& each : parameters_) {
    if (!each.name.starts_with(prefix) || each.name.size() == prefix.size()) continue;
    each.asked = true;
    found.emplace_back(each.name.substr(prefix.size()), each.value);
  }
  return found;
}

Page Query::page(std::string_view list) {
  Page page;
  page.limit = number("limit", 1, kMaxLimit).value_or(kDefaultLimit);
  const std::optional<std::string> cursor = text("cursor");
  if (!cursor || cursor->empty()) return page;
  const std::optional<std::string> decoded = base::decode_base64url(*cursor);
  const std::string prefix = std::string(list) + ":";
  if (!decoded || !decoded->starts_with(prefix)) {
    fail("cursor", "is not a cursor of this list; omit it to start from the beginning");
    return page;
  }
  page.after = decoded->substr(prefix.size());
  return page;
}

std::string Query::reason() {
  const std::optional<std::string> given = text("reason");
  if (!given) fail("reason", "is missing; say why: ?reason=…");
  if (given) {
    if (const auto fault = text_fault(*given, {.least = 1, .most = kMaxReason})) fail("reason", *fault);
  }
  return given.value_or("");
}

Status Query::finish() const {
  if (fault_) return http::bad(*fault_);
  for (const Parameter& each : parameters_) {
    if (!each.asked) return http::bad(http::shown(each.name) + ": is not a parameter of this path");
  }
  return success();
}

}  // namespace weir::admin
