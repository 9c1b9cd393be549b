#include "rules/read/penalty_fields.h"

#include <string>
#include <vector>

#include "rules/read/field_values.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

using WrittenPenalty = std::optional<YamlText>;

template <typename T>
void read_known(const FieldAt& at, std::span<const Field<T>> fields, T& into) {
  const std::vector<std::string_view> names = field_names(fields);
  if (!at.has_known_fields(names)) return;
  for (const Field<T>& field : fields) {
    if (const base::YamlNode* value = at.node().find(field.name)) field.read(at.part(*value, field.name), into);
  }
}

// What cannot be read becomes a valid time, so that one mistake is one line.
void read_time(const FieldAt& at, Duration& into) {
  if (!at.take(into, read_duration(at.node()))) into = std::chrono::minutes(1);
}

void read_on(const FieldAt& at, Penalty& penalty) {
  std::vector<std::string> names;
  read_names(at, "denied, reported or both", names);
  penalty.on_denied = penalty.on_reported = false;
  for (const std::string& name : names) {
    if (name == "denied") {
      penalty.on_denied = true;
    } else if (name == "reported") {
      penalty.on_reported = true;
    } else {
      penalty.on_denied = true;
      at.fault("names " + in_quotes(name) + ", expected denied or reported");
    }
  }
}

WrittenPenalty write_on(const Penalty& penalty) {
  if (penalty.on_denied && penalty.on_reported) return std::nullopt;
  YamlText list = YamlText::list();
  if (penalty.on_denied) list.add(YamlText::word("denied"));
  if (penalty.on_reported) list.add(YamlText::word("reported"));
  return list;
}

constexpr Field<Penalty> kPenaltyFields[] = {
    {"after", "strikes that begin a penalty, 1 to 1,000", "required",
     [](const FieldAt& at, Penalty& penalty) {
       if (!at.take(penalty.after, read_whole_number(at.node(), 1, kMaxPenaltyStrikes))) penalty.after = 1;
     },
     [](const Penalty& penalty) -> WrittenPenalty { return YamlText::number(penalty.after); }},
    {"within", "the time from the first of them, 1 s to 30 days", "required",
     [](const FieldAt& at, Penalty& penalty) { read_time(at, penalty.within); },
     [](const Penalty& penalty) -> WrittenPenalty { return YamlText::duration(penalty.within); }},
    {"block", "how long the first penalty lasts, 1 s to 30 days", "required",
     [](const FieldAt& at, Penalty& penalty) { read_time(at, penalty.block); },
     [](const Penalty& penalty) -> WrittenPenalty { return YamlText::duration(penalty.block); }},
    {"factor", "how many times as long the next one lasts, 1 to 100", "2",
     [](const FieldAt& at, Penalty& penalty) {
       at.take(penalty.factor, read_whole_number(at.node(), 1, kMaxPenaltyFactor));
     },
     [](const Penalty& penalty) {
       return penalty.factor == Penalty().factor ? WrittenPenalty() : YamlText::number(penalty.factor);
     }},
    {"max", "the longest penalty", "16 × `block`",
     [](const FieldAt& at, Penalty& penalty) {
       if (!at.take(penalty.max, read_duration(at.node()))) penalty.max = Duration::zero();
     },
     [](const Penalty& penalty) {
       return penalty.max == Duration::zero() ? WrittenPenalty() : YamlText::duration(penalty.max);
     }},
    {"on", "what counts as a strike: `denied`, `reported` or both", "`[denied, reported]`", read_on, write_on},
    {"decay", "each such time without a strike and without a penalty takes back one step, 1 s to 30 days", "`24h`",
     [](const FieldAt& at, Penalty& penalty) { read_time(at, penalty.decay); },
     [](const Penalty& penalty) {
       return penalty.decay == Penalty().decay ? WrittenPenalty() : YamlText::duration(penalty.decay);
     }},
    {"challenge", "how many of the first penalties ask for a challenge instead of refusing, 0 to 60", "0",
     [](const FieldAt& at, Penalty& penalty) {
       at.take(penalty.challenges, read_whole_number(at.node(), 0, kMaxPenaltySteps));
     },
     [](const Penalty& penalty) {
       return penalty.challenges == 0 ? WrittenPenalty() : YamlText::number(penalty.challenges);
     }},
};

}  // namespace

std::span<const Field<Penalty>> penalty_fields() { return kPenaltyFields; }

void read_penalty(const FieldAt& at, std::optional<Penalty>& penalty) {
  read_known(at, penalty_fields(), penalty.emplace());
  if (!at.node().is_map()) return penalty.reset();
  for (const std::string_view required : {"after", "within", "block"}) {
    if (at.node().find(required) != nullptr) continue;
    at.part(at.node(), required).fault("is missing");
    if (required == "after") penalty->after = 1;
    if (required == "within") penalty->within = std::chrono::minutes(1);
    if (required == "block") penalty->block = std::chrono::minutes(1);
  }
}

YamlText write_penalty(const Penalty& penalty) {
  YamlText map = YamlText::map();
  write_fields(penalty_fields(), penalty, map);
  return map;
}

void read_candidate(const FieldAt& at, std::optional<AllowanceChange>& candidate) {
  read_known(at, change_fields(), candidate.emplace());
  if (!at.node().is_map()) candidate.reset();
}

YamlText write_candidate(const AllowanceChange& candidate) {
  YamlText map = YamlText::map();
  write_fields(change_fields(), candidate, map);
  return map;
}

}  // namespace weir::rules
