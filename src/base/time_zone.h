// TimeZone: what clocks show in one zone of the system's time zone database (package tzdata), until the year 2400.
//
//   Result<std::shared_ptr<const TimeZone>> zone = TimeZone::load("Europe/Berlin");
//   zone.value()->offset_at(now);                     // 1 h or 2 h
//   zone.value()->first_instant_at(local_midnight);   // when a day begins there
//
// Immutable, so thread-safe. Leap seconds do not exist, as everywhere in Unix time. Why the files are read here and not
// by a library: docs/decisions/0011-time-zone-files.md.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tz_rule.h"
#include "weir/result.h"

namespace weir::base {

class TimeZone {
 public:
  // $TZDIR, or where Debian has the database.
  static std::string system_folder();

  // Failures: invalid_argument (no such zone; with the nearest name if there is one), data_loss (not a time zone file).
  static Result<std::shared_ptr<const TimeZone>> load(std::string_view name,
                                                      const std::string& folder = system_folder());
  // The content of a time zone file (RFC 8536, version 2 or later). Nothing if it is not one.
  static std::optional<TimeZone> parse(std::string name, std::string_view file);
  static std::shared_ptr<const TimeZone> utc();

  // The names of all zones of a folder, sorted.
  static std::vector<std::string> installed(const std::string& folder = system_folder());

  const std::string& name() const { return name_; }

  // East of Greenwich is positive.
  std::chrono::seconds offset_at(std::chrono::sys_seconds time) const;

  // The first instant at which clocks show `local` or later: the first of two when they are set back, and the change
  // itself when they are set forward over it. Never decreases as `local` grows.
  std::chrono::sys_seconds first_instant_at(std::chrono::local_seconds local) const;

 private:
  struct Segment {
    std::chrono::sys_seconds ends;  // the last one never does
    std::chrono::seconds offset;
  };

  static constexpr std::chrono::year kLastYear{2400};

  explicit TimeZone(std::string name) : name_(std::move(name)) {}
  void extend(const TzRule& rule);
  Segment segment_at(std::chrono::sys_seconds time) const;

  std::string name_;
  std::chrono::seconds before_{0};       // until the first change
  std::vector<TzRule::Change> changes_;  // by time
};

}  // namespace weir::base
