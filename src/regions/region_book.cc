#include "regions/region_book.h"

#include <algorithm>
#include <utility>

namespace weir::regions {
namespace {

__extension__ typedef __int128 WideDemand;

// Demand that falls is trusted slowly.
constexpr Ppm remembered(Ppm demand) { return demand * 7 / 10; }

Division division_of(const Charge& charge, const RegionMap& map) {
  const std::int64_t limit = charge.allowance->limit;
  const Division held = divide_tolerance(limit, charge.region->tolerance.of(limit), map.size(), map.own);
  if (charge.region->on_partition == OnPartition::hold) return held;
  // With `continue` each region may admit the limit.
  return {std::max<std::int64_t>(held.part, 1), limit};
}

}  // namespace

WindowAt window_at(const Allowance& allowance, TimePoint wall) {
  const Duration since_start = (wall.time_since_epoch() - allowance.anchor) % allowance.window;
  WindowAt window;
  window.starts = wall - since_start;
  window.ends = window.starts + allowance.window;
  window.near_edge = since_start < kClockDifference || allowance.window - since_start < kClockDifference;
  return window;
}

RegionBook::RegionBook(BookOptions options)
    : options_(std::move(options)), most_in_shard_(std::max<std::size_t>(options_.max_keys / kShards, 1)) {}

bool RegionBook::has_room(Shard& shard, TimePoint now) const {
  if (shard.size() >= most_in_shard_) forget_idle(shard, now);
  return shard.size() < most_in_shard_;
}

RegionBook::ShareEntry* RegionBook::share_entry(Shard& shard, const Charge& charge, TimePoint now) {
  const auto found = shard.shares.find(charge.key);
  ShareEntry* entry = found == shard.shares.end() ? nullptr : &found->second;
  if (entry == nullptr) {
    if (!has_room(shard, now)) return nullptr;
    entry = &shard.shares.emplace(charge.key, ShareEntry(floor())).first->second;
    entry->rule = charge.rule;
    entry->since = now;
  }
  entry->rate_units = charge.allowance->rate_units;
  entry->rate_ticks = charge.allowance->rate_ticks;
  return entry;
}

RegionBook::Usable RegionBook::share_of(const Charge& charge, TimePoint now) {
  Shard& shard = shard_of(charge.key);
  const std::lock_guard lock(shard.mutex);
  ShareEntry* const entry = share_entry(shard, charge, now);
  if (entry == nullptr) return {floor()};
  Usable usable{entry->held.at(now)};
  if (!entry->growing) usable.growth = entry->held.growth(now);
  entry->growing = entry->growing || usable.growth.has_value();
  return usable;
}

void RegionBook::note_share(const Charge& charge, bool admitted, TimePoint now) {
  bool urgent = false;
  {
    Shard& shard = shard_of(charge.key);
    const std::lock_guard lock(shard.mutex);
    ShareEntry* const entry = share_entry(shard, charge, now);
    if (entry == nullptr) return;
    entry->asked += charge.cost;
    entry->used = now;
    if (!admitted) {
      urgent = entry->denied == 0;
      entry->denied += charge.cost;
    }
  }
  if (!admitted) count_denied(charge.rule);
  if (urgent) options_.urgent();
}

void RegionBook::grown(const BucketKey& key, const HeldShare::Growth& growth, TimePoint now) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.shares.find(key);
  if (found == shard.shares.end()) return;
  found->second.held.grown(growth, now);
  found->second.growing = false;
}

void RegionBook::growth_failed(const BucketKey& key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.shares.find(key);
  if (found != shard.shares.end()) found->second.growing = false;
}

// What was asked for since the last request, in parts of the limit. A region that denies wants more than it has, even
// if clients that were denied have stopped asking.
void RegionBook::measure(ShareEntry& entry, TimePoint now) const {
  const std::int64_t elapsed = std::max<std::int64_t>((now - entry.since).count(), 1'000);
  const WideDemand demand = WideDemand{entry.asked} * entry.rate_ticks * kWhole /
                            (WideDemand{std::max<std::int64_t>(entry.rate_units, 1)} * elapsed);
  Ppm seen = static_cast<Ppm>(std::min<WideDemand>(demand, kMaxDemand));
  if (entry.denied > 0) seen = std::max(seen, 2 * entry.held.at(now));
  entry.demand = std::max(seen, remembered(entry.demand));
  entry.asked = entry.denied = 0;
  entry.since = now;
}

bool RegionBook::is_due(const ShareEntry& entry, TimePoint now) const {
  if (entry.in_flight || now - entry.used > options_.lease) return false;
  const bool live = now < entry.held.ends();
  if (live && entry.held.ends() - now <= options_.lease / 2 && entry.asked > 0) return true;
  if (now - entry.requested < options_.lease / 10) return false;
  if (entry.denied > 0) return true;
  // A key that needs no more than its floor is not the coordinator's business.
  const std::int64_t elapsed = std::max<std::int64_t>((now - entry.since).count(), 1'000'000);
  const WideDemand demand = WideDemand{entry.asked} * entry.rate_ticks * kWhole /
                            (WideDemand{std::max<std::int64_t>(entry.rate_units, 1)} * elapsed);
  return !live && demand > floor() * 7 / 10;
}

std::vector<RegionBook::ShareAsk> RegionBook::due_shares(TimePoint now, std::size_t most) {
  std::vector<ShareAsk> due;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (auto& [key, entry] : shard.shares) {
      if (due.size() == most) return due;
      if (!is_due(entry, now)) continue;
      measure(entry, now);
      entry.in_flight = true;
      entry.requested = now;
      ShareAsk& ask = due.emplace_back();
      ask.key = key;
      ask.request.region = options_.map.own;
      ask.request.node = options_.node;
      ask.request.demand = entry.demand;
      ask.request.share = entry.held.at(now);
      ask.request.epoch = entry.held.epoch();
    }
  }
  return due;
}

void RegionBook::share_answered(const BucketKey& key, const std::optional<ShareAnswer>& answer, TimePoint sent,
                                TimePoint now) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.shares.find(key);
  if (found == shard.shares.end()) return;
  found->second.in_flight = false;
  if (answer) found->second.held.answered(*answer, sent, now);
}

RegionBook::CellEntry* RegionBook::cell_entry(Shard& shard, const Charge& charge, const WindowAt& window,
                                              TimePoint now) {
  const CellEntry fresh{.view = CellView(options_.map.size(), options_.map.own),
                        .rule = std::string(charge.rule),
                        .starts = window.starts,
                        .ends = window.ends,
                        .used = now};
  const auto found = shard.cells.find(charge.key);
  if (found != shard.cells.end()) {
    if (found->second.starts < window.starts) found->second = fresh;
    return found->second.starts == window.starts ? &found->second : nullptr;
  }
  if (!has_room(shard, now)) return nullptr;
  return &shard.cells.emplace(charge.key, fresh).first->second;
}

std::int64_t RegionBook::most_of(const Charge& charge, const WindowAt& window, TimePoint now) {
  if (charge.region->sharing == RegionSharing::slices) return most_given(charge, window, now);
  const Division division = division_of(charge, options_.map);
  Shard& shard = shard_of(charge.key);
  const std::lock_guard lock(shard.mutex);
  CellEntry* const entry = cell_entry(shard, charge, window, now);
  // Without an entry, nothing that it admits would be told to the others.
  if (entry == nullptr) return std::min(division.part, division.limit);
  const std::int64_t most = entry->view.most(division.limit, division.part, charge.region->on_partition);
  const bool holds = charge.region->on_partition == OnPartition::hold;
  return holds && window.near_edge ? std::min(most, division.part) : most;
}

void RegionBook::note_count(const Charge& charge, const WindowAt& window, std::optional<std::int64_t> used,
                            bool admitted, TimePoint asked, TimePoint now) {
  if (charge.region->sharing == RegionSharing::slices) return note_units(charge, window, used, admitted, now);
  bool urgent = false;
  bool denied_by_part = false;
  {
    const std::int64_t part = division_of(charge, options_.map).part;
    Shard& shard = shard_of(charge.key);
    const std::lock_guard lock(shard.mutex);
    CellEntry* const entry = cell_entry(shard, charge, window, now);
    if (entry == nullptr) return;
    entry->used = now;
    if (used) entry->view.counted(*used, asked);
    const std::int64_t all = entry->view.others() + (used ? *used : 0);
    denied_by_part = !admitted && all + charge.cost <= charge.allowance->limit;
    entry->wants = entry->wants || denied_by_part;
    urgent = entry->view.news() * 2 >= part && entry->exchanged < now - std::chrono::milliseconds(5);
  }
  if (denied_by_part) count_denied(charge.rule);
  if (urgent) options_.urgent();
}

std::vector<RegionBook::CellAsk> RegionBook::due_cells(TimePoint now, Duration pause, std::size_t most) {
  std::vector<CellAsk> due;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (auto& [key, entry] : shard.cells) {
      if (due.size() == most) return due;
      const bool in_use = now - entry.used < 2 * pause + std::chrono::seconds(1);
      const bool due_now = entry.view.news() > 0 || entry.wants || (in_use && now - entry.exchanged >= pause);
      if (!due_now) continue;
      entry.exchanged = now;
      entry.wants = false;
      due.push_back({key, entry.starts, entry.ends, entry.view.own_cells()});
    }
  }
  return due;
}

void RegionBook::cells_read(const BucketKey& key, TimePoint starts, const std::vector<Cell>& cells, TimePoint now,
                            bool complete) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.cells.find(key);
  if (found == shard.cells.end() || found->second.starts != starts) return;
  found->second.view.read(cells, now, complete);
}

void RegionBook::forget_idle(Shard& shard, TimePoint now) const {
  const Duration idle = 2 * options_.lease;
  std::erase_if(shard.shares, [&](const auto& each) {
    const ShareEntry& entry = each.second;
    return now - entry.used > idle && now >= entry.held.ends() && !entry.in_flight && !entry.growing;
  });
  std::erase_if(shard.cells, [&](const auto& each) {
    const CellEntry& entry = each.second;
    return now - entry.used > std::max(idle, 2 * (entry.ends - entry.starts));
  });
  std::erase_if(shard.units, [&](const auto& each) {
    const UnitEntry& entry = each.second;
    return now - entry.used > std::max(idle, 2 * (entry.ends - entry.starts));
  });
}

void RegionBook::sweep(TimePoint now) {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    forget_idle(shard, now);
  }
}

void RegionBook::count_denied(std::string_view rule) {
  const std::lock_guard lock(figures_mutex_);
  const auto found = denied_.find(rule);
  if (found != denied_.end()) {
    ++found->second;
  } else if (denied_.size() < kMaxRules) {
    denied_.emplace(rule, 1);
  }
}

std::vector<RegionBook::RuleFigures> RegionBook::figures(TimePoint now) const {
  std::map<std::string, RuleFigures> by_rule;
  const auto of = [&by_rule](const std::string& rule) -> RuleFigures* {
    if (by_rule.size() >= kMaxRules && !by_rule.contains(rule)) return nullptr;
    return &by_rule[rule];
  };
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [key, entry] : shard.shares) {
      RuleFigures* const rule = of(entry.rule);
      if (rule == nullptr) continue;
      rule->keys += 1;
      rule->share += entry.held.at(now);
    }
    for (const auto& [key, entry] : shard.cells) {
      if (RuleFigures* const rule = of(entry.rule)) rule->keys += 1;
    }
    for (const auto& [key, entry] : shard.units) {
      RuleFigures* const rule = of(entry.rule);
      if (rule == nullptr || entry.limit == 0) continue;
      rule->keys += 1;
      const std::int64_t units = floor_units(entry.limit, options_.map.size()) + entry.given;
      rule->share += static_cast<Ppm>(WideDemand{units} * kWhole / entry.limit);
    }
  }
  {
    const std::lock_guard lock(figures_mutex_);
    for (const auto& [rule, count] : denied_) {
      if (RuleFigures* const figures = of(rule)) figures->denied = count;
    }
  }
  std::vector<RuleFigures> all;
  for (auto& [rule, figures] : by_rule) {
    figures.rule = rule;
    if (figures.keys > 0) figures.share /= static_cast<Ppm>(figures.keys);
    all.push_back(std::move(figures));
  }
  return all;
}

}  // namespace weir::regions
