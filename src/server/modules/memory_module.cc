#include "server/modules/memory_module.h"

#include "server/redis_settings.h"

namespace weir::server {
namespace {

constexpr std::size_t kFallbackBytes = std::size_t{16} << 20;
constexpr Duration kSweepPeriod = std::chrono::milliseconds(10);
constexpr std::size_t kSlotsPerSweep = 8192;

std::shared_ptr<memory::MemoryStore> make_store(std::size_t max_bytes) {
  return std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = max_bytes});
}

}  // namespace

MemoryModule::MemoryModule(ServerContext& context, RulesModule& rules)
    : context_(context),
      rules_(rules),
      with_redis_(uses_redis(context.config)),
      fallback_(make_store(kFallbackBytes)),
      store_(with_redis_ ? fallback_ : make_store(static_cast<std::size_t>(context.config.memory_max_bytes))),
      snapshot_(*store_, with_redis_ ? std::filesystem::path() : context.config.memory_snapshot, context.keys,
                context.log) {}

Status MemoryModule::start() {
  context_.add_task(kSweepPeriod, [this] { store_->sweep(context_.clock->now(), kSlotsPerSweep); });
  if (const Duration period = context_.config.memory_snapshot_every; period > Duration(0)) {
    context_.add_task(period, [this] { snapshot_.save(); });
  }
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  return success();
}

Status MemoryModule::listening() {
  return snapshot_.load(context_.clock->now(), [this](std::string_view rule) {
    const Result<rules::RuleName> name = rules_.book()->name_rule(rule);
    return name.ok() ? name.value().ordinal + 1 : 0;
  });
}

void MemoryModule::add_facts(observe::Facts& facts) const {
  const memory::MemoryStats stats = store_->stats();
  facts.store_name = with_redis_ ? "fallback" : store_->name();
  facts.store_keys = stats.keys;
  facts.store_bytes = stats.bytes;
  facts.store_max_bytes = stats.max_bytes;
  facts.store_expired = stats.swept;
  facts.store_evictions = stats.evicted_idle;
  facts.store_refused_newcomers = stats.refused_newcomers;
  facts.store_coarse_charges = stats.coarse_charges;
  if (!with_redis_) {
    store_->subjects().for_each([&facts](std::uint32_t number, std::int64_t count) {
      facts.rule_subjects.push_back({number - 1, count});
    });
  }
  facts.snapshots_saved = snapshot_.saved();
  facts.snapshots_failed = snapshot_.failed();
}

}  // namespace weir::server
