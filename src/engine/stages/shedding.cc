#include "engine/stages/shedding.h"

#include <algorithm>
#include <random>

#include "rules/compile/text_words.h"

namespace weir::engine {
namespace {

constexpr std::int64_t kFull = 1'000;      // a load of 100 %
constexpr std::uint32_t kOneRequest = 16;  // in counters that lose a share, so that small numbers do too
constexpr std::uint32_t kLoss = 8;         // an eighth in each tick
constexpr std::int64_t kForgotten = 64;    // ticks after which nothing is left
// Work that is never refused may fill the bucket so far beyond its size, and then empties as fast.
constexpr std::int64_t kMostFills = 2;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// Both halves of the product count.
std::uint64_t multiplied(std::uint64_t left, std::uint64_t right) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

std::int64_t bucket_ns(const rules::SheddingClasses& rules) {
  return std::max(Shedder::kBucket.count() * 1'000, Shedder::kLeastBucket * rules.request_ns());
}

// The level up to which each is to get what it asks for, so that all together get `total`.
std::uint32_t water_level(std::array<std::uint32_t, Shedder::kCohorts>& asked, std::uint64_t total) {
  std::sort(asked.begin(), asked.end());
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::uint64_t left = asked.size() - i;
    if (given + left * asked[i] >= total) return static_cast<std::uint32_t>((total - given) / left);
    given += asked[i];
  }
  return asked.back();
}

}  // namespace

Shedder::Shedder() : Shedder(random_seed()) {}

// Nearly every request: its class is not being shed, and the bucket is not filled to the band below the class's mark.
std::optional<Duration> Shedder::refuse(const rules::SheddingClasses& rules, std::uint64_t version,
                                        const rules::SheddingClasses::Place& place, TimePoint now) {
  if (version_.load(std::memory_order_relaxed) != version + 1) [[unlikely]]
    use(rules, version);
  const std::int64_t now_us = micros(now);
  if (now_us >= next_tick_us_.load(std::memory_order_relaxed)) [[unlikely]]
    tick(rules.source().classes.size(), now_us);
  if (place.number < rules.source().classes.size()) [[likely]] {
    Class& own = classes_[place.number];
    if (take_calmly(rules, own, now_us)) [[likely]] {
      cohort_of(own, place.share_of, now_us).admitted.fetch_add(kOneRequest, std::memory_order_relaxed);
      return std::nullopt;
    }
  }
  return weigh(rules, place, now);
}

// One attempt. False: nothing has changed.
inline bool Shedder::take_calmly(const rules::SheddingClasses& rules, const Class& own, std::int64_t now_us) {
  std::int64_t empty_at = empty_at_ns_.load(std::memory_order_relaxed);
  const std::int64_t now_ns = now_us * 1'000;
  const std::int64_t filled = std::max<std::int64_t>(0, empty_at - now_ns);
  if (filled >= own.calm_below_ns.load(std::memory_order_relaxed) || own.shedding.load(std::memory_order_relaxed))
    return false;
  last_filled_ns_.store(filled, std::memory_order_relaxed);
  return empty_at_ns_.compare_exchange_strong(empty_at, now_ns + filled + rules.request_ns(),
                                              std::memory_order_relaxed);
}

std::optional<Duration> Shedder::weigh(const rules::SheddingClasses& rules, const rules::SheddingClasses::Place& place,
                                       TimePoint now) {
  const Shedding& capacity = rules.source();
  const std::int64_t now_us = micros(now);
  const std::int64_t load = load_at(rules, now);
  if (place.number >= capacity.classes.size()) {
    static_cast<void>(take(rules, -1, now_us));
    return std::nullopt;
  }
  Class& own = classes_[place.number];
  const std::optional<int>& shed_at = capacity.classes[place.number].shed_at;
  if (!shed_at) {
    static_cast<void>(take(rules, -1, now_us));
    own.never_refused.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  Cohort& cohort = cohort_of(own, place.share_of, now_us);
  std::int64_t mark = *shed_at * kFull / 100;
  if (is_shedding(own, load, mark, now_us) && cohort.recent() >= own.fair.load(std::memory_order_relaxed)) {
    mark = std::max<std::int64_t>(0, mark - kBand);
  }
  if (load >= mark || !take(rules, mark, now_us)) {
    cohort.refused.fetch_add(kOneRequest, std::memory_order_relaxed);
    own.shed.fetch_add(1, std::memory_order_relaxed);
    return wait(own);
  }
  cohort.admitted.fetch_add(kOneRequest, std::memory_order_relaxed);
  return std::nullopt;
}

// Of two numbers that are read one after the other, the second may be ahead.
std::uint32_t Shedder::Cohort::recent() const {
  const std::uint64_t gone = forgotten.load(std::memory_order_relaxed);
  const std::uint64_t ever = admitted.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ever - std::min(gone, ever), kAnyShare - 1));
}

std::uint64_t Shedder::Class::admitted() const {
  std::uint64_t sum = 0;
  for (const Cohort& cohort : cohorts) sum += cohort.admitted.load(std::memory_order_relaxed);
  return never_refused.load(std::memory_order_relaxed) + sum / kOneRequest;
}

std::int64_t Shedder::load() const {
  const std::int64_t unit = load_unit_ns_.load(std::memory_order_relaxed);
  const std::int64_t by_rate = unit == 0 ? 0 : last_filled_ns_.load(std::memory_order_relaxed) / unit;
  return std::max(by_rate, last_open_load_.load(std::memory_order_relaxed));
}

std::int64_t Shedder::load_at(const rules::SheddingClasses& rules, TimePoint now) {
  const std::int64_t filled =
      std::max<std::int64_t>(0, empty_at_ns_.load(std::memory_order_relaxed) - micros(now) * 1'000);
  last_filled_ns_.store(filled, std::memory_order_relaxed);
  const std::int64_t by_rate = rules.request_ns() == 0 ? 0 : filled / (bucket_ns(rules) / kFull);
  const std::int64_t in_flight = rules.source().in_flight;
  if (in_flight == 0) return by_rate;
  const std::int64_t by_work = open_work_.open(now) * kFull / in_flight;
  last_open_load_.store(by_work, std::memory_order_relaxed);
  return std::max(by_rate, by_work);
}

// Puts one request into the bucket. False: it is filled to `mark`, and nothing has changed. A negative mark: always.
bool Shedder::take(const rules::SheddingClasses& rules, std::int64_t mark, std::int64_t now_us) {
  if (rules.request_ns() == 0) return true;
  const std::int64_t now_ns = now_us * 1'000;
  const std::int64_t bucket = bucket_ns(rules);
  const std::int64_t most = mark < 0 ? kMostFills * bucket : bucket / kFull * mark;
  std::int64_t empty_at = empty_at_ns_.load(std::memory_order_relaxed);
  std::int64_t after = 0;
  do {
    const std::int64_t filled = std::max<std::int64_t>(0, empty_at - now_ns);
    if (mark >= 0 && filled >= most) return false;
    const std::int64_t more = filled + rules.request_ns();
    after = now_ns + (mark < 0 ? std::max(filled, std::min(more, most)) : more);
  } while (!empty_at_ns_.compare_exchange_weak(empty_at, after, std::memory_order_relaxed));
  return true;
}

// Begins at the class's own mark, and ends when the load has been below the band for a while.
bool Shedder::is_shedding(Class& each, std::int64_t load, std::int64_t shed_at, std::int64_t now_us) {
  if (load >= shed_at - kBand) {
    each.busy_us.store(now_us, std::memory_order_relaxed);
    if (load >= shed_at) each.shedding.store(true, std::memory_order_relaxed);
  } else if (now_us - each.busy_us.load(std::memory_order_relaxed) >= kCalm.count()) {
    each.shedding.store(false, std::memory_order_relaxed);
    each.fair.store(kAnyShare, std::memory_order_relaxed);
  }
  return each.shedding.load(std::memory_order_relaxed);
}

// Keyed by what no caller knows, so that none can choose its neighbours.
Shedder::Cohort& Shedder::cohort_of(Class& each, std::string_view value, std::int64_t now_us) {
  const std::uint64_t turn = mixed(seed_ + static_cast<std::uint64_t>(now_us / kRotation.count()));
  std::uint64_t hash = turn ^ value.size();
  for (; value.size() > rules::TextWords::kWhole; value.remove_prefix(rules::TextWords::kWhole)) {
    const rules::TextWords words(value.substr(0, rules::TextWords::kWhole));
    hash = multiplied(words.first ^ hash, words.last ^ turn);
  }
  const rules::TextWords words(value);
  hash = multiplied(words.first ^ hash, words.last ^ turn);
  return each.cohorts[multiplied(hash, turn | 1) % kCohorts];
}

Duration Shedder::wait(const Class& each) {
  const auto spread = static_cast<std::uint64_t>(each.spread_us.load(std::memory_order_relaxed));
  const std::uint64_t random = mixed(seed_ + waits_.fetch_add(1, std::memory_order_relaxed));
  return kLeastWait + Duration(static_cast<std::int64_t>(random % spread));
}

// One thread does it; the others go on with what there is.
void Shedder::tick(std::size_t classes, std::int64_t now_us) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  const std::int64_t due = next_tick_us_.load(std::memory_order_relaxed);
  if (!lock.owns_lock() || now_us < due) return;
  const std::int64_t ticks = std::min(kForgotten, 1 + (now_us - due) / kTick.count());
  for (std::size_t i = 0; i < classes; ++i) {
    decay(classes_[i], ticks);
    share_out(classes_[i]);
  }
  next_tick_us_.store(now_us + kTick.count(), std::memory_order_relaxed);
}

void Shedder::decay(Class& each, std::int64_t ticks) {
  const auto lost = [ticks](std::uint32_t before) {
    std::uint32_t after = ticks >= kForgotten ? 0 : before;
    for (std::int64_t i = 0; i < ticks && after > 0; ++i) after -= (after + kLoss - 1) / kLoss;
    return before - after;
  };
  for (Cohort& cohort : each.cohorts) {
    if (const std::uint32_t recent = cohort.recent(); recent > 0) {
      cohort.forgotten.fetch_add(lost(recent), std::memory_order_relaxed);
    }
    const std::uint32_t refused = cohort.refused.load(std::memory_order_relaxed);
    if (refused > 0) cohort.refused.fetch_sub(lost(refused), std::memory_order_relaxed);
  }
}

// A cohort's fair share is the level that divides what the class gets: no one is given more than it asks for, and those
// who ask for more get the same.
void Shedder::share_out(Class& each) {
  if (!each.shedding.load(std::memory_order_relaxed)) return;
  std::array<std::uint32_t, kCohorts> seen;
  std::uint64_t asked = 0;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < kCohorts; ++i) {
    const std::uint32_t admitted = each.cohorts[i].recent();
    seen[i] = admitted + each.cohorts[i].refused.load(std::memory_order_relaxed);
    asked += seen[i];
    given += admitted;
  }
  each.fair.store(std::max(kOneRequest, water_level(seen, given)), std::memory_order_relaxed);
  // The more are refused, the longer the time over which they come back.
  const auto times = static_cast<std::int64_t>(asked / std::max<std::uint64_t>(1, given));
  each.spread_us.store(std::clamp(times * 1'000'000, kLeastWait.count(), kLongestSpread.count()),
                       std::memory_order_relaxed);
}

// Numbers of classes mean others now: what they have counted is kept under their names.
void Shedder::use(const rules::SheddingClasses& rules, std::uint64_t version) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (version_.load(std::memory_order_relaxed) == version + 1) return;
  fold_counts();
  names_.clear();
  const bool by_rate_alone = rules.request_ns() > 0 && rules.source().in_flight == 0;
  const std::int64_t unit = rules.request_ns() == 0 ? 0 : bucket_ns(rules) / kFull;
  load_unit_ns_.store(unit, std::memory_order_relaxed);
  last_open_load_.store(0, std::memory_order_relaxed);
  for (const SheddingClass& each : rules.source().classes) {
    const std::int64_t calm = by_rate_alone && each.shed_at ? unit * (*each.shed_at * kFull / 100 - kBand) : 0;
    classes_[names_.size()].calm_below_ns.store(std::max<std::int64_t>(0, calm), std::memory_order_relaxed);
    names_.push_back(each.name);
  }
  version_.store(version + 1, std::memory_order_relaxed);
}

void Shedder::fold_counts() {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Totals& totals = folded_[names_[i]];
    const std::uint64_t admitted = classes_[i].admitted();
    totals.admitted += admitted - classes_[i].folded;
    classes_[i].folded = admitted;
    totals.shed += classes_[i].shed.exchange(0, std::memory_order_relaxed);
    classes_[i].shedding.store(false, std::memory_order_relaxed);
  }
  // Names of the past are bounded: operators rarely rename classes.
  constexpr std::size_t kMostNames = 8 * kMaxSheddingClasses;
  if (folded_.size() > kMostNames) folded_.clear();
}

std::vector<Shedder::ClassCount> Shedder::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::string, ClassCount> by_name;
  for (const auto& [name, totals] : folded_) by_name[name] = {name, totals.admitted, totals.shed, false};
  for (std::size_t i = 0; i < names_.size(); ++i) {
    ClassCount& count = by_name[names_[i]];
    count.name = names_[i];
    count.admitted += classes_[i].admitted() - classes_[i].folded;
    count.shed += classes_[i].shed.load(std::memory_order_relaxed);
    count.shedding = classes_[i].shedding.load(std::memory_order_relaxed);
  }
  std::vector<ClassCount> counts;
  for (auto& [name, count] : by_name) counts.push_back(std::move(count));
  return counts;
}

}  // namespace weir::engine
