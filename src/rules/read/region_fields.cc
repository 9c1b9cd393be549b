#include "rules/read/region_fields.h"

#include "rules/read/field_values.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

constexpr Choice<RegionSharing> kSharings[] = {{"none", RegionSharing::none},
                                               {"slices", RegionSharing::slices},
                                               {"reconcile", RegionSharing::reconcile},
                                               {"central", RegionSharing::central}};
constexpr Choice<OnPartition> kPartitions[] = {{"hold", OnPartition::hold}, {"continue", OnPartition::continue_on}};

}  // namespace

void read_region(const FieldAt& at, Rule& rule) { read_choice(at, kSharings, rule.region); }

std::optional<YamlText> write_region(const Rule& rule) {
  if (rule.region == RegionSharing::none) return std::nullopt;
  return write_choice(kSharings, rule.region);
}

void read_on_partition(const FieldAt& at, Rule& rule) { read_choice(at, kPartitions, rule.on_partition); }

std::optional<YamlText> write_on_partition(const Rule& rule) {
  if (rule.on_partition == OnPartition::hold) return std::nullopt;
  return write_choice(kPartitions, rule.on_partition);
}

void read_home(const FieldAt& at, Rule& rule) { at.take(rule.home, read_text(at.node())); }

std::optional<YamlText> write_home(const Rule& rule) {
  if (rule.home.empty()) return std::nullopt;
  return YamlText::text(rule.home);
}

}  // namespace weir::rules
