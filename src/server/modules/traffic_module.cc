#include "server/modules/traffic_module.h"

#include <algorithm>
#include <random>
#include <utility>

#include "server/log_settings.h"

namespace weir::server {
namespace {

constexpr Duration kTrafficPeriod = std::chrono::seconds(1);

// A subject that asks for this share of all decisions is counted as hot.
constexpr double kHotShare = 0.02;

std::uint64_t random_seed() {
  std::random_device seed;
  return std::uint64_t{seed()} << 32 | seed();
}

}  // namespace

Status TrafficModule::open() {
  const Config& config = context_.config;
  const std::size_t loops = context_.loops->size();
  if (config.journal_memory > 0) {
    Result<observe::DecisionLogOptions> lines = decision_log_options(config, context_.keys);
    if (!lines.ok()) return lines.failure();
    observe::JournalOptions options;
    options.bytes = static_cast<std::size_t>(config.journal_memory);
    options.sample = config.journal_sample;
    options.record = {.plain = lines.value().plain, .secrets = lines.value().secrets};
    options.hash_key = lines.value().hash_key;
    journal_ = std::make_unique<observe::Journal>(options, loops);
  }
  if (config.hot_keys != kOff) {
    std::vector<observe::HotKeyCounter*> borrowed;
    for (std::size_t i = 0; i < loops; ++i) {
      hot_key_counters_.push_back(std::make_shared<observe::HotKeyCounter>(random_seed()));
      borrowed.push_back(hot_key_counters_.back().get());
    }
    hot_keys_ = std::make_unique<observe::HotKeys>(std::move(borrowed));
  }
  return success();
}

void TrafficModule::observe(std::size_t loop, LimiterOptions& options) {
  if (hot_keys_ != nullptr) options.observers.push_back(hot_key_counters_[loop]);
  if (journal_ != nullptr) options.request_observers.push_back(journal_->make_writer(loop, random_seed()));
}

Status TrafficModule::start() {
  sampler_ = std::make_unique<observe::HistorySampler>(counters_, rules_.labels(), history_,
                                                       [this] { return answer_times(); });
  sampler_->sample(context_.clock->wall());
  context_.add_task(kTrafficPeriod, [this] { look(); });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  const StoredEntries which = stored_entries_from_name(context_.config.journal_database);
  if (journal_ != nullptr && which != StoredEntries::none) tools_.databases().when_ready([this] { open_store(); });
  return success();
}

// At the start, or on the background thread when the database is there.
void TrafficModule::open_store() {
  store_ = std::make_unique<JournalStore>(
      *journal_, *tools_.databases().database(),
      JournalStore::Options{.which = stored_entries_from_name(context_.config.journal_database),
                            .keep = context_.config.journal_keep,
                            .node = tools_.node(),
                            .is_audited = [this](std::string_view rule) { return is_audited(rule); }});
  stored_.store(store_.get(), std::memory_order_release);
}

// On one thread at a time: the background thread, and at the end the one that stops the server.
bool TrafficModule::is_audited(std::string_view rule) {
  if (const std::uint64_t version = rules_.book()->version(); version != audited_version_) {
    audited_version_ = version;
    audited_.clear();
    for (const rules::CompiledRule& each : rules_.book()->current()->rules()) {
      if (each.source.audit_denials) audited_.insert(each.source.id);
    }
  }
  return audited_.contains(rule);
}

void TrafficModule::stop() {
  if (JournalStore* const store = stored_.exchange(nullptr)) store->finish(context_.clock->wall());
}

void TrafficModule::look() {
  sampler_->sample(context_.clock->wall());
  if (hot_keys_ != nullptr) {
    hot_keys_->leave_out(without_hot_keys());
    hot_keys_->merge(context_.clock->wall());
  }
  if (store_ != nullptr) store_->write(context_.clock->wall());
}

std::vector<std::uint32_t> TrafficModule::without_hot_keys() const {
  std::vector<std::uint32_t> ordinals;
  for (const rules::CompiledRule& rule : rules_.book()->current()->rules()) {
    if (rule.source.hot_keys == HotKeys::off) ordinals.push_back(rule.name.ordinal);
  }
  std::sort(ordinals.begin(), ordinals.end());
  return ordinals;
}

// What operators ask is not what callers wait for.
base::LatencySums TrafficModule::answer_times() const {
  base::LatencySums sums;
  for (const transport::ListenerTimes& each : context_.loops->answer_times()) {
    if (each.name != "admin") sums += each.sums;
  }
  return sums;
}

void TrafficModule::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  if (hot_keys_ != nullptr) {
    facts.more.push_back({.name = "weir_hot_subjects",
                          .help = "Subjects with at least 2 % of all decisions.",
                          .kind = Kind::gauge,
                          .value = static_cast<double>(hot_keys_->hot(kHotShare))});
  }
  if (journal_ != nullptr) {
    facts.more.push_back({.name = "weir_journal_entries_total",
                          .help = "Entries that the journal of decisions has kept.",
                          .kind = Kind::counter,
                          .value = static_cast<double>(journal_->written())});
    facts.more.push_back({.name = "weir_journal_bytes",
                          .help = "Memory of the journal of decisions.",
                          .kind = Kind::gauge,
                          .value = static_cast<double>(journal_->bytes())});
  }
  if (const JournalStore* const store = stored()) {
    facts.more.push_back({.name = "weir_journal_stored_total",
                          .help = "Entries of the journal that were written to the database.",
                          .kind = Kind::counter,
                          .value = static_cast<double>(store->written())});
    facts.more.push_back({.name = "weir_journal_lost_total",
                          .help = "Entries of the journal that could not be written to the database.",
                          .kind = Kind::counter,
                          .value = static_cast<double>(store->lost())});
  }
}

}  // namespace weir::server
