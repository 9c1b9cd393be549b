// Traffic: what the routes about a running server show, and where they get it from. Made once by the server; everything
// is borrowed and outlives the routes. Its functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api.h"
#include "admin/json_writer.h"
#include "admin/side_thread.h"
#include "observe/history.h"
#include "observe/hot_keys.h"
#include "observe/journal.h"
#include "observe/metrics.h"
#include "observe/rollout_counts.h"
#include "rules/rule_book.h"
#include "weir/limiter.h"

namespace weir::admin {

struct DatabaseState {
  std::string_view kind = "off";
  bool ok = true;
  std::string detail;
  Duration lag{0};  // of the oldest unfinished transaction
};

// The nodes that share the database.
struct NodesState {
  std::int64_t live = 1;
  std::int64_t expected = 1;  // with those that have not shut down cleanly
};

// An override or a block that ends within a day.
struct EndsSoon {
  std::string kind;
  std::string id;
  std::string text;  // for whom, and of an override what: "tenant=acme, search, 5000 per 60 s"
  std::string reason;
  TimePoint until;
};

// An entry that the database has, as the API shows it.
struct StoredDecision {
  observe::JournalPlace place;
  std::string node;
  std::string json;
};
using FindStored = std::function<Result<std::vector<StoredDecision>>(
    const observe::JournalQuery&, std::size_t count, const std::optional<observe::JournalPlace>& after)>;

struct Traffic {
  const observe::History& history;
  const observe::HotKeys* hot_keys = nullptr;  // null: switched off, like the next
  const observe::Journal* journal = nullptr;
  const rules::RuleBook& rules;
  std::string rules_source{};  // "file", "database" or "built-in"
  std::function<observe::Facts()> facts{};
  std::function<DatabaseState()> database{};
  std::function<NodesState()> nodes{};
  // What the candidate of the rule with this ordinal would have changed, or the rule itself in shadow mode.
  std::function<observe::RolloutReport(std::uint32_t ordinal, observe::RolloutCounts::Kind kind)> rollout{};
  std::function<std::vector<EndsSoon>()> ends_soon{};  // may be empty
  FindStored find_stored{};                            // may be empty: nothing is stored
  std::string node{};
  SideThread& side;
};

void add_overview_route(Api& api, const Traffic& traffic);
void add_rule_card_routes(Api& api, const Traffic& traffic);
void add_decision_routes(Api& api, const Traffic& traffic);
void add_hot_key_routes(Api& api, const Traffic& traffic);
void add_candidate_routes(Api& api, const Traffic& traffic);

// The members of a report about candidate numbers, inside an object (candidate_routes.cc).
void write_candidate_report(JsonWriter& out, const Traffic& traffic, const rules::CompiledRule& rule);

// What these routes share.

// Makes the answer on the side thread; 503 if too many wait for it.
void run_aside(Call& call, const Traffic& traffic, std::function<Answer()> make);

// The names that subjects have, by rule and hash: the attributes that the rule counts by, as far as the journal knows
// them as text ("tenant=acme,ip=192.0.2.7"); "all" for a rule with one bucket. Without plain subjects, only that.
class SubjectNames {
 public:
  // Takes milliseconds if subjects are plain: not for a loop.
  SubjectNames(const Traffic& traffic, std::vector<observe::SubjectKey> wanted);
  std::optional<std::string> find(const observe::SubjectKey& key) const;

 private:
  std::vector<std::pair<observe::SubjectKey, std::string>> names_;
};

// "9c41d2e07b5a", or "shared".
std::string subject_of(const BucketKey& key, bool shared);

// The members of a series: start_at, step_ms and one list for each name, with null where nothing is known.
template <std::size_t N>
void write_series(JsonWriter& out, const observe::Series<N>& series, const std::array<std::string_view, N>& names) {
  out.begin_object("series");
  out.member("start_at", series.start);
  out.member("step_ms", ceil_ms(series.step));
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i].empty()) continue;
    out.begin_array(names[i]);
    for (const double each : series.values[i]) {
      if (observe::is_gap(each)) {
        out.raw_value("null");
      } else {
        out.value(each);
      }
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace weir::admin
