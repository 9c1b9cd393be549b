#include "server/modules/simulate_module.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/identity_settings.h"
#include "simulate/report_json.h"
#include "weir/rules_file.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxText = std::size_t{16} << 20;      // bodies are bounded before
constexpr std::size_t kBucketBytes = std::size_t{64} << 20;  // for each of the two rule sets
constexpr std::size_t kMaxJournalEntries = 100'000;

Rules active_rules(const rules::RuleBook& book) {
  Rules active;
  for (const rules::CompiledRule& each : book.current()->rules()) active.rules.push_back(each.source);
  return active;
}

// Of values that the journal does not keep there is a hash: it tells subjects apart, and no condition on it is true.
std::string journal_value(const observe::JournalAttribute& attribute) {
  return attribute.text ? *attribute.text : "#" + std::to_string(attribute.hash);
}

}  // namespace

Status SimulateModule::start() {
  tools_.add_routes(
      [this](admin::Api& api) { api.ask("/rules/simulate", [this](admin::Call& call) { handle(call); }); });
  return success();
}

void SimulateModule::stop() {
  if (worker_.joinable()) worker_.join();
}

void SimulateModule::handle(admin::Call& call) {
  admin::Members body = call.body();
  const std::string text = body.text("text", {.most = kMaxText, .lines = true});
  const std::string source = body.choice("source", {"journal", "log"});
  const std::optional<std::string> format = body.optional_text("format");
  const std::optional<std::string> log = body.optional_text("log", {.most = kMaxText, .lines = true});
  Work work;
  work.from_journal = source == "journal";
  if (!work.from_journal && !log) body.fail("log", "is missing: source is log, expected the lines of an access log");
  if (format && *format != "auto") {
    work.reading.format = simulate::log_format_from_name(*format);
    if (!work.reading.format)
      body.fail("format",
                "is no format of access logs, expected auto, nginx, caddy, json or another of docs/simulate.md");
  }
  if (!call.accepts(body)) return;
  Result<simulate::ReplayOptions> options = replay_options(text);
  if (!options.ok()) return call.answer(admin::problem_of(options.failure()));
  if (work.from_journal && traffic_.journal() == nullptr) {
    return call.answer(admin::problem(409, "journal_off", "the journal of decisions is switched off"));
  }
  if (busy_.exchange(true)) {
    return call.answer(admin::problem(503, "busy", "another simulation is running; try again when it is done"));
  }
  work.options = std::move(options).value();
  work.log = log.value_or("");
  if (worker_.joinable()) worker_.join();
  worker_ = std::thread([this, work = std::move(work), later = call.defer()]() mutable {
    const Result<std::string> report = run(std::move(work));
    busy_.store(false);
    later.send(report.ok() ? admin::json_answer(report.value()) : admin::problem_of(report.failure()));
  });
}

Result<simulate::ReplayOptions> SimulateModule::replay_options(const std::string& text) const {
  const Result<RulesFile> proposed = parse_rules(text, "rules", context_.clock->wall());
  if (!proposed.ok()) return Failure{Code::invalid_argument, proposed.failure().message};
  Result<identity::IdentityOptions> identity = identity_options(context_.config, context_.keys);
  if (!identity.ok()) return identity.failure();
  simulate::ReplayOptions options;
  options.sets = {{"active", active_rules(*rules_.book())}, {"proposed", proposed.value().rules}};
  options.sets.back().rules.on_no_rule = proposed.value().rules.on_no_rule;
  options.identity = std::move(identity).value();
  options.max_bytes = kBucketBytes;
  options.plain_subjects = context_.config.log_subjects == "plain";
  return options;
}

Result<std::string> SimulateModule::run(Work work) const {
  Result<std::unique_ptr<simulate::Replay>> replay = simulate::Replay::create(std::move(work.options));
  if (!replay.ok()) return Failure{Code::invalid_argument, replay.failure().message};
  if (work.from_journal) {
    replay_journal(*replay.value());
    const Result<simulate::Report> report = replay.value()->finish(nullptr);
    if (!report.ok()) return report.failure();
    return simulate::report_json(report.value());
  }
  Result<simulate::MergedLogs> logs = simulate::MergedLogs::from_text(work.log, work.reading);
  if (!logs.ok()) return Failure{Code::invalid_argument, "log: " + logs.failure().message};
  while (logs.value().next()) replay.value()->add(logs.value().record(), logs.value().current());
  const Result<simulate::Report> report = replay.value()->finish(&logs.value());
  if (!report.ok()) return report.failure();
  return simulate::report_json(report.value());
}

void SimulateModule::replay_journal(simulate::Replay& replay) const {
  const observe::Journal& journal = *traffic_.journal();
  std::vector<observe::JournalEntry> entries = journal.search(journal.filter({}), kMaxJournalEntries);
  std::reverse(entries.begin(), entries.end());  // oldest first
  for (const observe::JournalEntry& entry : entries) {
    std::vector<std::string> values;
    values.reserve(entry.attributes.size());
    std::vector<Attribute> attributes;
    for (const observe::JournalAttribute& each : entry.attributes) {
      values.push_back(journal_value(each));
      attributes.push_back({each.name, values.back()});
    }
    for (std::uint32_t i = 0; i < entry.count; ++i) replay.add(entry.at, Request(attributes, Cost{entry.cost}));
  }
}

}  // namespace weir::server
