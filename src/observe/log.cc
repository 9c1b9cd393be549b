#include "observe/log.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/json_text.h"

namespace weir::observe {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
constexpr std::string_view kColours[] = {"\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[31m"};
constexpr std::string_view kPlain = "\x1b[0m";

// What a line keeps free for its end: the count of lines held back, a brace, the line break.
constexpr std::size_t kTailBytes = 64;
constexpr std::size_t kMaxMessage = 2048;
constexpr std::size_t kMaxName = 64;
// A field with less room than this is left out: its name, punctuation and a few characters would not fit.
constexpr std::size_t kLeastFieldBytes = 3 * kMaxName;

std::size_t room_left(const std::string& line) {
  constexpr std::size_t kUsable = Log::kMaxLine - kTailBytes;
  return line.size() < kUsable ? kUsable - line.size() : 0;
}

void append_json_field(std::string& line, const Field& field) {
  line += ',';
  base::append_json_string(line, field.name, kMaxName);
  line += ':';
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    base::append_json_string(line, *text, room_left(line));
  } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    line += std::to_string(*number);
  } else {
    line += std::get<bool>(field.value) ? "true" : "false";
  }
}

// A value that is one word needs no quotes.
bool is_word(std::string_view text) {
  constexpr std::string_view kNotInWords = " \"=\\";
  return !text.empty() && text.find_first_of(kNotInWords) == std::string_view::npos;
}

void append_text_field(std::string& line, const Field& field) {
  line += ' ';
  base::append_plain_line(line, field.name, kMaxName);
  line += '=';
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (is_word(*text)) {
      base::append_plain_line(line, *text, room_left(line));
    } else {
      base::append_json_string(line, *text, room_left(line));
    }
  } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    line += std::to_string(*number);
  } else {
    line += std::get<bool>(field.value) ? "true" : "false";
  }
}

// A pipe that is ready takes PIPE_BUF bytes in one piece, and a line is no longer.
bool takes_a_line(int fd) {
  pollfd asked{fd, POLLOUT, 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLOUT) != 0;
}

void write_line(int fd, const std::string& line) {
  // A signal may interrupt before anything is written; a short write is not continued, because its rest could land
  // inside another thread's line.
  while (::write(fd, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string_view level_name(Level level) { return kNames[static_cast<std::size_t>(level)]; }

std::optional<Level> level_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

std::string rfc3339(TimePoint time) {
  const std::int64_t ms = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  const std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(ms)));
  const std::chrono::year_month_day date(day);
  const std::int64_t in_day = ms - std::chrono::milliseconds(day.time_since_epoch()).count();
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(in_day / 3'600'000), static_cast<int>(in_day / 60'000 % 60),
                static_cast<int>(in_day / 1'000 % 60), static_cast<int>(in_day % 1'000));
  return text.data();
}

void Log::debug(std::string_view event, std::string_view message, std::initializer_list<Field> fields) {
  write(Level::debug, event, message, {fields.begin(), fields.size()});
}
void Log::info(std::string_view event, std::string_view message, std::initializer_list<Field> fields) {
  write(Level::info, event, message, {fields.begin(), fields.size()});
}
void Log::warn(std::string_view event, std::string_view message, std::initializer_list<Field> fields) {
  write(Level::warn, event, message, {fields.begin(), fields.size()});
}
void Log::error(std::string_view event, std::string_view message, std::initializer_list<Field> fields) {
  write(Level::error, event, message, {fields.begin(), fields.size()});
}

void Log::write(Level level, std::string_view event, std::string_view message, std::span<const Field> fields) {
  if (level < options_.level) return;
  if (!options_.waits && !takes_a_line(options_.fd)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const TimePoint now = clock_.wall();
  const std::optional<std::int64_t> held_back = admit(level, event, now);
  if (!held_back) return;

  const bool json = options_.format == Format::json;
  std::string line;
  line.reserve(256);
  if (json) {
    line += "{\"ts\":\"" + rfc3339(now) + "\",\"level\":\"" + std::string(level_name(level)) + "\",\"event\":";
    base::append_json_string(line, event, kMaxName);
    line += ",\"msg\":";
    base::append_json_string(line, message, kMaxMessage);
  } else {
    const std::size_t i = static_cast<std::size_t>(level);
    line += rfc3339(now) + ' ';
    if (options_.colour) line += kColours[i];
    line += kNames[i];
    if (options_.colour) line += kPlain;
    line.append(6 - kNames[i].size(), ' ');
    base::append_plain_line(line, message, kMaxMessage);
  }
  for (const Field& field : fields) {
    if (room_left(line) < kLeastFieldBytes) break;
    json ? append_json_field(line, field) : append_text_field(line, field);
  }
  if (*held_back > 0) {
    const Field field("suppressed", *held_back);
    json ? append_json_field(line, field) : append_text_field(line, field);
  }
  line += json ? "}\n" : "\n";
  write_line(options_.fd, line);
}

std::optional<std::int64_t> Log::admit(Level level, std::string_view event, TimePoint now) {
  const std::int64_t second = micros(now) / 1'000'000;
  std::string key(level_name(level));
  key += '/';
  key += event.substr(0, kMaxName);
  const std::lock_guard lock(mutex_);
  auto found = repeats_.find(key);
  if (found == repeats_.end()) {
    // Event names come from our own code, so this bound is never met; meeting it costs detail, not memory.
    if (repeats_.size() >= kMaxRepeatKeys) key = "other";
    found = repeats_.try_emplace(key).first;
  }
  Repeats& repeats = found->second;
  if (repeats.second != second) {
    repeats.second = second;
    repeats.passed = 0;
  }
  if (repeats.passed >= options_.repeats_per_second) {
    ++repeats.held_back;
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  ++repeats.passed;
  return std::exchange(repeats.held_back, 0);
}

}  // namespace weir::observe
