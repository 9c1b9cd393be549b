#include "rules/read/shedding_fields.h"

#include <string>
#include <vector>

#include "rules/compile/shedding_classes.h"
#include "rules/read/field_values.h"
#include "rules/read/rule_reader.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

using WrittenPart = std::optional<YamlText>;

template <typename T>
void read_parts(const FieldAt& at, std::span<const Field<T>> fields, T& into) {
  const std::vector<std::string_view> names = field_names(fields);
  if (!at.has_known_fields(names)) return;
  for (const Field<T>& field : fields) {
    if (const base::YamlNode* value = at.node().find(field.name)) field.read(at.part(*value, field.name), into);
  }
}

// "5000/s", "300/m", "20/100ms".
void read_rate(const FieldAt& at, Shedding& shedding) {
  constexpr std::string_view kExpected = "requests and a time, as in 5000/s";
  if (!at.node().is_scalar()) return at.fault_expecting(kExpected);
  const std::string_view text = at.node().text();
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash > 13) return at.fault_expecting(kExpected);
  std::int64_t rate = 0;
  for (const char digit : text.substr(0, slash)) {
    if (digit < '0' || digit > '9') return at.fault_expecting(kExpected);
    rate = rate * 10 + (digit - '0');
  }
  const std::string time(text.substr(slash + 1));
  const bool has_number = !time.empty() && time.front() >= '0' && time.front() <= '9';
  const Result<Duration> window = parse_duration(has_number ? time : "1" + time);
  if (!window.ok() || rate == 0) return at.fault_expecting(kExpected);
  shedding.rate = rate;
  shedding.rate_window = window.value();
}

WrittenPart write_rate(const Shedding& shedding) {
  if (shedding.rate == 0) return std::nullopt;
  constexpr Duration kSecond = std::chrono::seconds(1);
  const bool per_second = shedding.rate_window == kSecond;
  std::string text = std::to_string(shedding.rate) + "/";
  if (per_second) return YamlText::text(text + "s");
  if (shedding.rate_window % kSecond == Duration::zero()) {
    return YamlText::text(text + std::to_string(shedding.rate_window / kSecond) + "s");
  }
  return YamlText::text(text + std::to_string(shedding.rate_window.count()) + "us");
}

void read_shed_at(const FieldAt& at, SheddingClass& each) {
  if (at.node().is_scalar() && at.node().text() == "never") {
    each.shed_at.reset();
    return;
  }
  const Result<std::int64_t> percent = read_percent(at.node(), kLeastShedAt, kMostShedAt);
  if (!percent.ok()) return at.fault_expecting("never, or a load from 1% to 100%");
  each.shed_at = static_cast<int>(percent.value());
}

void read_classes(const FieldAt& at, Shedding& shedding) {
  if (!at.node().is_sequence()) return at.fault_expecting("a list of classes, as in {name: read, shed_at: 80%}");
  for (std::size_t i = 0; i < at.node().size() && i <= kMaxSheddingClasses; ++i) {
    const FieldAt item = at.item(i);
    read_parts(item, shedding_class_fields(), shedding.classes.emplace_back());
    if (!item.node().is_map()) continue;
    for (const std::string_view required : {"name", "shed_at"}) {
      if (item.node().find(required) == nullptr) item.part(item.node(), required).fault("is missing");
    }
  }
}

WrittenPart write_classes(const Shedding& shedding) {
  YamlText list = YamlText::list();
  for (const SheddingClass& each : shedding.classes) {
    YamlText map = YamlText::map();
    write_fields(shedding_class_fields(), each, map);
    list.add(std::move(map));
  }
  return list;
}

constexpr Field<Shedding> kCapacityFields[] = {
    {"rate", "requests per time that this node can handle, such as `5000/s` or `300/m`", "not bounded", read_rate,
     write_rate},
    {"in_flight", "requests that this node can handle at the same time, up to 100,000", "not bounded",
     [](const FieldAt& at, Shedding& shedding) {
       at.take(shedding.in_flight, read_whole_number(at.node(), 1, kMaxInFlight));
     },
     [](const Shedding& shedding) {
       return shedding.in_flight == 0 ? WrittenPart() : YamlText::number(shedding.in_flight);
     }},
};

constexpr Field<SheddingClass> kClassFields[] = {
    {"name", "1–64 of `A–Z a–z 0–9 . _ -`; in metrics, and in a trusted request's `priority`", "required",
     [](const FieldAt& at, SheddingClass& each) { at.take(each.name, read_text(at.node())); },
     [](const SheddingClass& each) -> WrittenPart { return YamlText::text(each.name); }},
    {"match", "which requests, as in a rule", "every request that is in no earlier class",
     [](const FieldAt& at, SheddingClass& each) { read_conditions(at, each.match); },
     [](const SheddingClass& each) { return each.match.empty() ? WrittenPart() : write_conditions(each.match); }},
    {"shed_at", "the load at which requests of the class are refused, `1%` to `100%`, or `never`", "required",
     read_shed_at,
     [](const SheddingClass& each) -> WrittenPart {
       return each.shed_at ? YamlText::text(std::to_string(*each.shed_at) + "%") : YamlText::word("never");
     }},
};

constexpr Field<Shedding> kSheddingFields[] = {
    {"capacity", "the capacity of this node: `rate`, `in_flight`, or both", "required",
     [](const FieldAt& at, Shedding& shedding) { read_parts(at, capacity_fields(), shedding); },
     [](const Shedding& shedding) -> WrittenPart {
       YamlText map = YamlText::map();
       write_fields(capacity_fields(), shedding, map);
       return map;
     }},
    {"classes", "at most 16 classes; a request is in the first that matches, and is never refused if none does",
     "required", read_classes, write_classes},
    {"fair_by", "the attribute whose values get equal shares of a class that is being shed", "`tenant`",
     [](const FieldAt& at, Shedding& shedding) { at.take(shedding.fair_by, read_text(at.node())); },
     [](const Shedding& shedding) {
       return shedding.fair_by == Shedding().fair_by ? WrittenPart() : YamlText::text(shedding.fair_by);
     }},
    {"trust_priority",
     "requests that may name their class in the attribute `priority`: conditions as in `match`; `{}` trusts all",
     "`priority` is ignored",
     [](const FieldAt& at, Shedding& shedding) { read_conditions(at, shedding.trust_priority.emplace()); },
     [](const Shedding& shedding) -> WrittenPart {
       if (!shedding.trust_priority) return std::nullopt;
       return shedding.trust_priority->empty() ? YamlText::map() : write_conditions(*shedding.trust_priority);
     }},
};

}  // namespace

std::span<const Field<Shedding>> shedding_fields() { return kSheddingFields; }
std::span<const Field<Shedding>> capacity_fields() { return kCapacityFields; }
std::span<const Field<SheddingClass>> shedding_class_fields() { return kClassFields; }

void read_shedding(const FieldAt& at, std::optional<Shedding>& shedding) {
  if (shedding) return at.fault("is in another file too, expected in one file of the folder");
  const std::size_t before = at.faults();
  read_parts(at, shedding_fields(), shedding.emplace());
  // What could not be read would only be reported again.
  if (at.faults() != before) return;
  for (const RuleFault& fault : check_shedding(*shedding)) at.fault_below(fault.field, fault.what);
}

YamlText write_shedding(const Shedding& shedding) {
  YamlText map = YamlText::map();
  write_fields(shedding_fields(), shedding, map);
  return map;
}

}  // namespace weir::rules
