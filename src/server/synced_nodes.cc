#include "server/synced_nodes.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "engine/boot_clock.h"

namespace weir::server {
namespace {

// Some times per shortest sync_interval of common rules; shorter ones are reported when half of a credit is used, or
// when the next request comes.
constexpr Duration kTickPeriod = std::chrono::milliseconds(25);
// Whether the last reports were answered.
constexpr std::chrono::milliseconds kLookAgain{2};

std::uint64_t random_id() {
  std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

}  // namespace

SyncedNodes::SyncedNodes(ServerContext& context, const RedisStores& redis, std::shared_ptr<const rules::RuleBook> rules,
                         std::shared_ptr<std::atomic<std::uint32_t>> askers)
    : context_(context),
      redis_(redis),
      rules_(std::move(rules)),
      askers_(std::move(askers)),
      boot_(std::make_shared<engine::BootClock>()) {
  askers_->store(static_cast<std::uint32_t>(context.loops->size()));
  // The stores are asked on the first loop, which is the only one that changes the membership.
  membership_ = std::make_shared<synced::Membership>(synced::Membership::Options{
      .id = random_id(), .weight = static_cast<std::uint32_t>(context.loops->size()), .settled = [this] {
        std::uint32_t least = 0;
        for (const auto& store : stores_) {
          const std::uint32_t parts = store->settled();
          if (parts > 0 && (least == 0 || parts < least)) least = parts;
        }
        return least;
      }});
}

std::shared_ptr<Store> SyncedNodes::decorate(std::size_t loop, std::shared_ptr<Store> store) {
  stores_.push_back(std::make_shared<synced::SyncedStore>(
      synced::Options{.store = std::move(store),
                      .clock = context_.clock,
                      .boot = boot_,
                      .credit = std::shared_ptr<const synced::Credit>(membership_, &membership_->credit()),
                      .epoch = redis_.connects(loop)}));
  return stores_.back();
}

void SyncedNodes::start() {
  context_.add_task(kTickPeriod, [this] { tick(); });
  context_.add_task(synced::kBeatPeriod, [this] {
    if (knows_others()) context_.loops->post(0, [this] { beat(); });
  });
}

void SyncedNodes::leave(Duration patience) {
  if (membership_->nodes() == 0) return;  // nothing was ever admitted without Redis
  const auto end = std::chrono::steady_clock::now() + patience;
  // No loop admits by its credit once the first one has done this.
  bool in_time = ask_loops(end, [membership = membership_](std::size_t loop) {
                   if (loop == 0) membership->leave();
                   return std::int64_t{0};
                 }).has_value();
  while (in_time) {
    const std::optional<std::int64_t> unreported = ask_loops(end, [stores = stores_](std::size_t loop) {
      stores[loop]->tick(true);
      return stores[loop]->unreported();
    });
    in_time = unreported.has_value() && *unreported > 0;
    if (in_time) std::this_thread::sleep_for(kLookAgain);
  }
}

std::optional<std::int64_t> SyncedNodes::ask_loops(std::chrono::steady_clock::time_point end,
                                                   const std::function<std::int64_t(std::size_t)>& ask) {
  struct Answers {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t missing = 0;
    std::int64_t sum = 0;
  };
  // Shared: a loop may still answer after the end.
  const auto answers = std::make_shared<Answers>();
  answers->missing = stores_.size();
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    context_.loops->post(i, [ask, i, answers] {
      const std::int64_t answer = ask(i);
      const std::lock_guard lock(answers->mutex);
      answers->sum += answer;
      if (--answers->missing == 0) answers->changed.notify_one();
    });
  }
  std::unique_lock lock(answers->mutex);
  if (!answers->changed.wait_until(lock, end, [&answers] { return answers->missing == 0; })) return std::nullopt;
  if (std::chrono::steady_clock::now() >= end) return std::nullopt;
  return answers->sum;
}

// Needs to: some rule is leased, or may be, or synced.
bool SyncedNodes::knows_others() const {
  const auto current = rules_->current();
  return std::any_of(current->rules().begin(), current->rules().end(),
                     [](const rules::CompiledRule& rule) { return rule.slices.has_value(); });
}

void SyncedNodes::tick() {
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (stores_[i]->wants_tick()) context_.loops->post(i, [store = stores_[i]] { store->tick(); });
  }
}

void SyncedNodes::beat() {
  redis::RedisStore* const store = redis_.store_of(0);
  if (store == nullptr) return;
  const synced::Beat beat = membership_->next(boot_->now());
  store->beat(
      {.id = beat.id, .number = beat.number, .weight = beat.weight, .held = beat.held, .ttl = synced::kMemberTtl},
      [membership = membership_, askers = askers_, loops = beat.weight,
       number = beat.number](const redis::MemberGrant& grant) {
        membership->answered(number, {.parts = grant.parts, .nodes = grant.nodes});
        // Others are taken to have as many loops as this node. An old number does no harm.
        if (grant.nodes > 0) askers->store(grant.nodes * loops);
      });
}

void SyncedNodes::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  const auto add = [&](std::string_view name, std::string_view help, synced::Stats::Counter synced::Stats::*counter,
                       std::vector<std::pair<std::string_view, std::string>> labels = {}) {
    std::uint64_t sum = 0;
    for (const auto& store : stores_) sum += (store->stats().*counter).load(std::memory_order_relaxed);
    facts.more.push_back({name, help, Kind::counter, static_cast<double>(sum), std::move(labels)});
  };
  add("weir_synced_answers_total",
      "Store calls answered from the state that this node knew, and reported to Redis afterwards.",
      &synced::Stats::answered);
  add("weir_synced_reports_total", "Reports of admitted units to Redis; `lost`: of these, the ones without an answer.",
      &synced::Stats::reports, {{"result", "sent"}});
  add("weir_synced_reports_total", "", &synced::Stats::lost_reports, {{"result", "lost"}});
  add("weir_synced_units_total", "Units reported; `lost`: of these, the ones that may not have been charged.",
      &synced::Stats::reported, {{"result", "reported"}});
  add("weir_synced_units_total", "", &synced::Stats::lost, {{"result", "lost"}});
  facts.more.push_back({"weir_synced_nodes",
                        "Nodes that share leased and synced rules, as last read from Redis.",
                        Kind::gauge,
                        static_cast<double>(membership_->nodes()),
                        {}});
}

}  // namespace weir::server
