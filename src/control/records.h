// Records: what operators set while the server runs, as it is stored. Plain values.
//
// `revision` is a record's ETag. The mark of a record tells this node's use of it (weir/use_mark.h); it is shared by
// everything that acts on the record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/text_lists.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::control {

struct OverrideRecord {
  std::string id;
  std::vector<std::string> rules;  // ids, or "*" alone
  std::vector<Condition> when;
  AllowanceChange change;
  std::optional<Mode> mode;
  bool emergency = false;
  TimePoint until{};
  std::string reason;
  std::string actor;
  TimePoint created{};
  std::int64_t revision = 1;
  std::optional<TimePoint> last_used;
  std::shared_ptr<UseMark> use = nullptr;

  const std::string& key() const { return id; }
};

struct BlockRecord {
  std::string id;
  std::vector<Condition> when;
  std::optional<TimePoint> until;  // none: until it is removed
  std::string reason;
  std::string actor;
  TimePoint created{};
  std::int64_t revision = 1;
  std::int64_t hits = 0;
  std::optional<TimePoint> last_used;
  std::shared_ptr<UseMark> use = nullptr;

  const std::string& key() const { return id; }
};

// A plan, and from when on it is the tenant's. The epoch: since ever.
struct PlanStep {
  std::string plan;  // empty: none
  TimePoint from{};

  bool operator==(const PlanStep&) const = default;
};
inline constexpr std::size_t kMaxPlanSteps = 24;  // then the oldest are forgotten

struct TenantRecord {
  std::string tenant;
  std::string plan;  // the last of `steps`, which may begin later; empty: none
  std::string zone;  // an IANA name; empty: none
  TextPairs settings;
  std::string note;
  TimePoint created{};
  TimePoint updated{};
  std::int64_t revision = 1;
  std::vector<PlanStep> steps = {};  // ascending; empty: `plan`, since ever

  const std::string& key() const { return tenant; }
  // The plan at a moment; before the first step, none.
  const std::string& plan_at(TimePoint wall) const;
  // Another plan from a moment on: what was to begin then or later does not. Without a moment: from `now`, or since
  // ever in a new record.
  void set_plan(const std::string& next, const std::optional<TimePoint>& from, TimePoint now);
};

struct KeyRecord {
  std::string id;
  std::string name;
  std::string prefix;  // the first characters of the key, for people
  std::string hash;    // key_hash.h
  std::string tenant;
  std::string plan;  // empty: the tenant's
  TextPairs attributes;
  std::string actor;
  TimePoint created{};
  std::optional<TimePoint> expires;
  std::optional<TimePoint> revoked;
  std::optional<TimePoint> last_used;
  std::int64_t revision = 1;
  std::shared_ptr<UseMark> use = nullptr;

  const std::string& key() const { return id; }
  bool is_active(TimePoint now) const { return !revoked && (!expires || now < *expires); }
};

// The later of what the database and what this node knows.
inline std::optional<TimePoint> last_use(const std::optional<TimePoint>& stored, const std::shared_ptr<UseMark>& mark) {
  const std::optional<TimePoint> here = mark == nullptr ? std::nullopt : mark->last_used();
  if (!stored || (here && *here > *stored)) return here ? here : stored;
  return stored;
}

}  // namespace weir::control
