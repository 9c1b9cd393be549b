#include "rules/read/consistency_fields.h"

#include "rules/read/field_values.h"
#include "rules/read/quota_fields.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

constexpr Choice<Consistency> kConsistencies[] = {
    {"exact", Consistency::exact}, {"leased", Consistency::leased}, {"synced", Consistency::synced}};
constexpr Choice<HotKeys> kHotKeys[] = {{"show", HotKeys::show}, {"lease", HotKeys::lease}, {"off", HotKeys::off}};
constexpr Choice<HashTag> kHashTags[] = {
    {"tenant", HashTag::tenant}, {"tenant+action", HashTag::tenant_action}, {"subject", HashTag::subject}};

}  // namespace

void read_consistency(const FieldAt& at, Rule& rule) { read_choice(at, kConsistencies, rule.consistency); }

std::optional<YamlText> write_consistency(const Rule& rule) {
  if (rule.consistency == Consistency::exact) return std::nullopt;
  return write_choice(kConsistencies, rule.consistency);
}

void read_tolerance(const FieldAt& at, Rule& rule) {
  if (at.inherited() && rule.consistency != Consistency::synced && rule.region == RegionSharing::none) return;
  Share tolerance{.amount = 1};
  read_share(at, 1, tolerance);
  rule.tolerance = tolerance;
}

std::optional<YamlText> write_tolerance(const Rule& rule) {
  if (!rule.tolerance) return std::nullopt;
  return write_share(*rule.tolerance);
}

void read_sync_interval(const FieldAt& at, Rule& rule) {
  if (at.inherited() && rule.consistency != Consistency::synced) return;
  Duration interval = std::chrono::milliseconds(100);
  at.take(interval, read_duration(at.node()));
  rule.sync_interval = interval;
}

std::optional<YamlText> write_sync_interval(const Rule& rule) {
  if (!rule.sync_interval) return std::nullopt;
  return YamlText::duration(*rule.sync_interval);
}

void read_hot_keys(const FieldAt& at, Rule& rule) { read_choice(at, kHotKeys, rule.hot_keys); }

std::optional<YamlText> write_hot_keys(const Rule& rule) {
  if (rule.hot_keys == HotKeys::show) return std::nullopt;
  return write_choice(kHotKeys, rule.hot_keys);
}

void read_hash_tag(const FieldAt& at, Rule& rule) {
  read_choice(at, kHashTags, rule.hash_tag.emplace(HashTag::tenant));
}

std::optional<YamlText> write_hash_tag(const Rule& rule) {
  if (!rule.hash_tag) return std::nullopt;
  return write_choice(kHashTags, *rule.hash_tag);
}

}  // namespace weir::rules
