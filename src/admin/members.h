// Members: reads the members of a JSON object, one call each, and keeps the first fault for the end.
//
//   Members body = call.body();
//   const std::string name = body.text("name", {.most = 128});
//   const std::optional<std::string> zone = body.optional_text("zone");
//   const TimePoint until = body.until("until", call.now());
//   const std::string reason = body.reason();
//   if (!call.accepts(body)) return;           // 400, which names the member and says what is expected
//
// A member that was not asked for is a fault, too. After a fault the calls return something harmless. Copies, and the
// Members of objects inside, share their faults. For one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/json.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::admin {

// Characters (not bytes) of a text. Control characters are refused, except in a text of several lines.
struct TextBounds {
  std::size_t least = 1;
  std::size_t most = 256;
  bool lines = false;
};

inline constexpr std::size_t kMaxReason = 500;

// An attribute and the values of which it must have one.
struct Condition {
  std::string attribute;
  std::vector<std::string> values;
};

class Members {
 public:
  // Of a body. What is wrong with it is the first fault.
  static Members of(std::string_view body);

  bool has(std::string_view name) const;

  // Required, and the same optional: nothing if it is not there or null.
  std::string text(std::string_view name, TextBounds bounds = {});
  std::optional<std::string> optional_text(std::string_view name, TextBounds bounds = {});
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most);
  std::optional<std::int64_t> optional_number(std::string_view name, std::int64_t least, std::int64_t most);
  // False if it is not there.
  bool flag(std::string_view name);
  std::optional<bool> optional_flag(std::string_view name);
  // One of `choices`.
  std::string choice(std::string_view name, std::initializer_list<std::string_view> choices);
  // RFC 3339 or a duration from `now` ("30m", "7d"); in the future, and not further than 10 years.
  TimePoint until(std::string_view name, TimePoint now);
  std::optional<TimePoint> optional_until(std::string_view name, TimePoint now);
  // "60s".
  std::optional<Duration> optional_duration(std::string_view name);
  // A text or a list of texts, at least one.
  std::vector<std::string> texts(std::string_view name, std::size_t most = 100);
  // An object of texts; empty if it is not there.
  std::vector<std::pair<std::string, std::string>> text_map(std::string_view name, std::size_t most = 100);
  // An object of texts, or lists of texts, by attribute; empty if it is not there.
  std::vector<Condition> conditions(std::string_view name, std::size_t most = 32);
  // An object; without members if it is not there.
  Members object(std::string_view name);
  // `reason`: why. Required, 1 to 500 characters.
  std::string reason();

  // A fault that only the caller can find. `what` follows the member's name: "must be above burst".
  void fail(std::string_view name, const std::string& what);
  bool failed() const { return state_->fault.has_value(); }
  // The first fault; a member that was not asked for is one. After the last member was read.
  Status finish() const;

 private:
  struct State {
    std::optional<std::string> fault;
  };
  struct Level {
    Json json;
    std::string prefix;              // "when." inside `when`
    std::vector<std::string> asked;  // members
    std::vector<Members> inside;
  };

  Members(Json json, std::string prefix, std::shared_ptr<State> state);

  // Null: not there, or null.
  const Json* find(std::string_view name);
  const Json* require(std::string_view name, std::string_view expected);
  void expected(std::string_view name, std::string_view what, const Json& found);
  std::optional<std::string> checked_text(std::string_view name, const Json& value, const TextBounds& bounds);
  std::optional<std::vector<std::string>> checked_texts(std::string_view name, const Json& value, std::size_t most);

  std::shared_ptr<State> state_;
  std::shared_ptr<Level> level_;
};

// RFC 3339, or a duration that is added to `now`. The failure says what is expected.
Result<TimePoint> parse_until(std::string_view text, TimePoint now);
// What is wrong with a text; nothing if it is within the bounds.
std::optional<std::string> text_fault(std::string_view text, const TextBounds& bounds);

}  // namespace weir::admin
