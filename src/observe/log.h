// Log: structured lines on standard error, for people or for machines.
//
//   log.info("rules_loaded", "rules loaded", {{"rules", 12}, {"path", path}});
//
//   text  2026-07-01T12:00:00.123Z info  rules loaded rules=12 path=rules.yaml
//   json  {"ts":"2026-07-01T12:00:00.123Z","level":"info","event":"rules_loaded","msg":"rules loaded","rules":12,…}
//
// Each line is one write(2) of at most kMaxLine bytes, so that lines of several threads or processes never mix in a
// pipe. Everything is escaped: a caller's text cannot start a line of its own. A line that repeats (same event and
// level) passes at most `repeats_per_second` times a second; the next one that passes says how many were held back.
//
// Thread-safe. Borrows the clock. Write failures are ignored: they cannot be reported. A full pipe is waited for,
// unless `waits` is false: then the line is dropped and counted as held back.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "weir/time.h"

namespace weir::observe {

enum class Level : std::uint8_t { debug, info, warn, error };
std::string_view level_name(Level level);
std::optional<Level> level_from_name(std::string_view name);

struct Field {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, bool> value;

  Field(std::string_view n, std::string_view text) : name(n), value(text) {}
  Field(std::string_view n, const char* text) : name(n), value(std::string_view(text)) {}
  Field(std::string_view n, const std::string& text) : name(n), value(std::string_view(text)) {}
  Field(std::string_view n, std::same_as<bool> auto flag) : name(n), value(bool{flag}) {}
  Field(std::string_view n, std::integral auto number) requires(!std::same_as<decltype(number), bool>)
      : name(n), value(static_cast<std::int64_t>(number)) {}
};

class Log {
 public:
  enum class Format : std::uint8_t { text, json };
  static constexpr std::size_t kMaxLine = 4096;  // PIPE_BUF: the most that a pipe takes in one piece
  static constexpr std::size_t kMaxRepeatKeys = 256;

  struct Options {
    Format format = Format::text;
    Level level = Level::info;
    int fd = 2;
    bool colour = false;
    std::int64_t repeats_per_second = 20;
    bool waits = true;
  };

  Log(const Options& options, Clock& clock) : options_(options), clock_(clock) {}

  void debug(std::string_view event, std::string_view message, std::initializer_list<Field> fields = {});
  void info(std::string_view event, std::string_view message, std::initializer_list<Field> fields = {});
  void warn(std::string_view event, std::string_view message, std::initializer_list<Field> fields = {});
  void error(std::string_view event, std::string_view message, std::initializer_list<Field> fields = {});
  void write(Level level, std::string_view event, std::string_view message, std::span<const Field> fields);

  const Options& options() const { return options_; }
  Format format() const { return options_.format; }
  // Lines held back since the start.
  std::int64_t suppressed() const { return suppressed_.load(std::memory_order_relaxed); }

 private:
  struct Repeats {
    std::int64_t second = 0;
    std::int64_t passed = 0;
    std::int64_t held_back = 0;
  };
  // How many like it were held back before this line, or nothing if this one is held back too.
  std::optional<std::int64_t> admit(Level level, std::string_view event, TimePoint now);

  // Constant after construction.
  const Options options_;
  Clock& clock_;

  std::mutex mutex_;
  std::map<std::string, Repeats, std::less<>> repeats_;  // guarded by mutex_
  std::atomic<std::int64_t> suppressed_{0};
};

// "2026-07-01T12:00:00.123Z"
std::string rfc3339(TimePoint time);

}  // namespace weir::observe
