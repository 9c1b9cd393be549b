#include "engine/estimates.h"

namespace weir::engine {

std::optional<std::int64_t> Estimates::quantile(const Subject& subject, int percent) const {
  const std::lock_guard lock(mutex_);
  auto found = sketches_.find(key_of(subject.value));
  if (found == sketches_.end()) found = sketches_.find(key_of(subject.rule));
  if (found == sketches_.end() || found->second.total() == 0) return std::nullopt;
  return found->second.quantile(percent);
}

void Estimates::learn(const Subject& subject, std::int64_t actual) {
  const std::lock_guard lock(mutex_);
  auto found = sketches_.find(key_of(subject.value));
  if (found == sketches_.end()) {
    const bool room = sketches_.size() < kMaxSketches;
    if (!room && sketches_.size() >= kMaxSketches + kMaxRules) return;
    found = sketches_.try_emplace(key_of(room ? subject.value : subject.rule)).first;
  }
  found->second.add(actual);
}

void Estimates::count_error(std::string_view rule, std::int64_t reserved, std::int64_t actual) {
  const std::lock_guard lock(mutex_);
  auto found = errors_.find(rule);
  if (found == errors_.end()) {
    if (errors_.size() >= kMaxRules) return;
    found = errors_.try_emplace(std::string(rule), Errors{.rule = std::string(rule)}).first;
  }
  ++found->second.settled;
  (reserved > actual ? found->second.over : found->second.under) +=
      static_cast<std::uint64_t>(reserved > actual ? reserved - actual : actual - reserved);
}

std::vector<Estimates::Errors> Estimates::errors() const {
  const std::lock_guard lock(mutex_);
  std::vector<Errors> all;
  for (const auto& [rule, errors] : errors_) all.push_back(errors);
  return all;
}

std::vector<Estimates::Learned> Estimates::learned() const {
  const std::lock_guard lock(mutex_);
  std::vector<Learned> all;
  all.reserve(sketches_.size());
  for (const auto& [key, sketch] : sketches_) all.push_back({{key.first, key.second}, sketch});
  return all;
}

void Estimates::restore(const Learned& learned) {
  const std::lock_guard lock(mutex_);
  if (sketches_.size() < kMaxSketches + kMaxRules) sketches_.try_emplace(key_of(learned.key), learned.sketch);
}

}  // namespace weir::engine
