#include "admin/members.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "frontends/http/json_body.h"
#include "rules/compile/fault_list.h"
#include "rules/read/yaml_values.h"

namespace weir::admin {
namespace {

constexpr Duration kFurthestUntil = std::chrono::hours(24 * 3653);

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::optional<std::string> text_fault(std::string_view text, const TextBounds& bounds) {
  if (base::valid_text_prefix(text) != text.size()) return "has a NUL or is not UTF-8";
  const auto refused = [&](char c) {
    return base::is_control(c) && !(bounds.lines && (c == '\n' || c == '\t' || c == '\r'));
  };
  if (std::any_of(text.begin(), text.end(), refused)) return "has a control character";
  const std::size_t length = characters_of(text);
  if (length >= bounds.least && length <= bounds.most) return std::nullopt;
  if (length == 0) return "is empty";
  return "has " + std::to_string(length) + " characters, expected " + std::to_string(bounds.least) + " to " +
         std::to_string(bounds.most);
}

Result<TimePoint> parse_until(std::string_view text, TimePoint now) {
  TimePoint until{};
  if (const Result<Duration> duration = rules::parse_duration(text); duration.ok()) {
    if (duration.value() > kFurthestUntil) return http::bad("is more than 10 years from now");
    until = now + duration.value();
  } else {
    const Result<TimePoint> instant = rules::parse_instant(text);
    if (!instant.ok()) {
      return http::bad("is '" + http::shown(text) +
                       "', expected a time such as 2026-12-31T00:00:00Z or a duration such as 2h");
    }
    until = instant.value();
  }
  if (until <= now) return http::bad("is in the past");
  if (until > now + kFurthestUntil) return http::bad("is more than 10 years from now");
  return until;
}

Members::Members(Json json, std::string prefix, std::shared_ptr<State> state)
    : state_(std::move(state)), level_(std::make_shared<Level>(Level{std::move(json), std::move(prefix), {}, {}})) {}

Members Members::of(std::string_view body) {
  Result<Json> json = Json::parse_object(body);
  Members members(json.ok() ? json.value() : Json(Json::Object()), "", std::make_shared<State>());
  if (!json.ok()) members.state_->fault = json.failure().message;
  return members;
}

bool Members::has(std::string_view name) const {
  const Json::Object& members = *level_->json.object();
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& each) { return each.first == name && !each.second.is_null(); });
}

const Json* Members::find(std::string_view name) {
  level_->asked.emplace_back(name);
  for (const auto& [known, value] : *level_->json.object()) {
    if (known == name) return value.is_null() ? nullptr : &value;
  }
  return nullptr;
}

const Json* Members::require(std::string_view name, std::string_view expected) {
  const Json* const found = find(name);
  if (found == nullptr) fail(name, "is missing, expected " + std::string(expected));
  return found;
}

void Members::fail(std::string_view name, const std::string& what) {
  if (!state_->fault) state_->fault = level_->prefix + std::string(name) + ": " + what;
}

void Members::expected(std::string_view name, std::string_view what, const Json& found) {
  fail(name, "is " + std::string(found.kind()) + ", expected " + std::string(what));
}

std::optional<std::string> Members::checked_text(std::string_view name, const Json& value, const TextBounds& bounds) {
  if (value.text() == nullptr) {
    expected(name, "a text", value);
    return std::nullopt;
  }
  if (const std::optional<std::string> fault = text_fault(*value.text(), bounds)) {
    fail(name, *fault);
    return std::nullopt;
  }
  return *value.text();
}

std::string Members::text(std::string_view name, TextBounds bounds) {
  const Json* const value = require(name, "a text");
  return value == nullptr ? std::string() : checked_text(name, *value, bounds).value_or("");
}

std::optional<std::string> Members::optional_text(std::string_view name, TextBounds bounds) {
  const Json* const value = find(name);
  return value == nullptr ? std::nullopt : checked_text(name, *value, bounds);
}

std::optional<std::int64_t> Members::optional_number(std::string_view name, std::int64_t least, std::int64_t most) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->whole() == nullptr) {
    expected(name, "a whole number", *value);
    return std::nullopt;
  }
  const std::int64_t number = *value->whole();
  if (number >= least && number <= most) return number;
  fail(name, "is " + std::to_string(number) + ", expected " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::int64_t Members::number(std::string_view name, std::int64_t least, std::int64_t most) {
  if (!has(name)) static_cast<void>(require(name, "a whole number"));
  return optional_number(name, least, most).value_or(least);
}

std::optional<bool> Members::optional_flag(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->boolean() != nullptr) return *value->boolean();
  expected(name, "true or false", *value);
  return std::nullopt;
}

bool Members::flag(std::string_view name) { return optional_flag(name).value_or(false); }

std::string Members::choice(std::string_view name, std::initializer_list<std::string_view> choices) {
  std::string list;
  for (const std::string_view each : choices) list += (list.empty() ? "" : ", ") + std::string(each);
  const Json* const value = require(name, "one of " + list);
  if (value == nullptr) return {};
  if (value->text() != nullptr && std::find(choices.begin(), choices.end(), *value->text()) != choices.end()) {
    return *value->text();
  }
  const std::string shown =
      value->text() != nullptr ? "'" + http::shown(*value->text()) + "'" : std::string(value->kind());
  fail(name, "is " + shown + ", expected one of " + list);
  return {};
}

std::optional<TimePoint> Members::optional_until(std::string_view name, TimePoint now) {
  const std::optional<std::string> text = optional_text(name, {.least = 1, .most = 64});
  if (!text) return std::nullopt;
  const Result<TimePoint> until = parse_until(*text, now);
  if (until.ok()) return until.value();
  fail(name, until.failure().message);
  return std::nullopt;
}

TimePoint Members::until(std::string_view name, TimePoint now) {
  if (!has(name)) static_cast<void>(require(name, "a time such as 2026-12-31T00:00:00Z or a duration such as 2h"));
  return optional_until(name, now).value_or(now);
}

std::optional<Duration> Members::optional_duration(std::string_view name) {
  const std::optional<std::string> text = optional_text(name, {.least = 1, .most = 64});
  if (!text) return std::nullopt;
  const Result<Duration> duration = rules::parse_duration(*text);
  if (duration.ok()) return duration.value();
  fail(name, duration.failure().message);
  return std::nullopt;
}

std::optional<std::vector<std::string>> Members::checked_texts(std::string_view name, const Json& value,
                                                               std::size_t most) {
  constexpr TextBounds kEach{.least = 1, .most = 1024};
  if (value.array() == nullptr) {
    std::optional<std::string> one = checked_text(name, value, kEach);
    if (!one) return std::nullopt;
    return std::vector<std::string>{*std::move(one)};
  }
  if (value.array()->empty() || value.array()->size() > most) {
    fail(name, "has " + std::to_string(value.array()->size()) + " entries, expected 1 to " + std::to_string(most));
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const Json& each : *value.array()) {
    std::optional<std::string> text = checked_text(name, each, kEach);
    if (!text) return std::nullopt;
    texts.push_back(*std::move(text));
  }
  return texts;
}

std::vector<std::string> Members::texts(std::string_view name, std::size_t most) {
  const Json* const value = require(name, "a text or a list of texts");
  return value == nullptr ? std::vector<std::string>()
                          : checked_texts(name, *value, most).value_or(std::vector<std::string>());
}

std::vector<std::pair<std::string, std::string>> Members::text_map(std::string_view name, std::size_t most) {
  std::vector<std::pair<std::string, std::string>> map;
  for (Condition& each : conditions(name, most)) {
    if (each.values.size() != 1) fail(std::string(name) + "." + each.attribute, "is a list, expected a text");
    map.emplace_back(std::move(each.attribute), std::move(each.values.front()));
  }
  return map;
}

std::vector<Condition> Members::conditions(std::string_view name, std::size_t most) {
  const Json* const value = find(name);
  if (value == nullptr) return {};
  if (value->object() == nullptr) {
    expected(name, "an object", *value);
    return {};
  }
  if (value->object()->size() > most) {
    fail(name, "has " + std::to_string(value->object()->size()) + " members, expected at most " + std::to_string(most));
    return {};
  }
  std::vector<Condition> conditions;
  for (const auto& [attribute, wanted] : *value->object()) {
    const std::string member = std::string(name) + "." + http::shown(attribute);
    if (text_fault(attribute, {.least = 1, .most = 128})) fail(member, "is not a name, expected 1 to 128 characters");
    std::optional<std::vector<std::string>> values = checked_texts(member, wanted, 1000);
    if (!values) return {};
    conditions.push_back({attribute, *std::move(values)});
  }
  return conditions;
}

Members Members::object(std::string_view name) {
  const Json* const value = find(name);
  const std::string prefix = level_->prefix + std::string(name) + ".";
  if (value != nullptr && value->object() == nullptr) expected(name, "an object", *value);
  const bool usable = value != nullptr && value->object() != nullptr;
  level_->inside.push_back(Members(usable ? *value : Json(Json::Object()), prefix, state_));
  return level_->inside.back();
}

std::string Members::reason() { return text("reason", {.least = 1, .most = kMaxReason, .lines = true}); }

Status Members::finish() const {
  if (state_->fault) return http::bad(*state_->fault);
  for (const auto& [name, value] : *level_->json.object()) {
    if (std::find(level_->asked.begin(), level_->asked.end(), name) != level_->asked.end()) continue;
    const std::vector<std::string_view> known(level_->asked.begin(), level_->asked.end());
    return http::bad(level_->prefix + http::shown(name) + ": is not a member" + rules::suggestion(name, known));
  }
  for (const Members& each : level_->inside) {
    if (Status status = each.finish(); !status.ok()) return status;
  }
  return success();
}

}  // namespace weir::admin
