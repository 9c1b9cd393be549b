#include "server/modules/rules_module.h"

#include <string>

#include "advise/rule_diff.h"
#include "base/ascii.h"

namespace weir::server {
namespace {

constexpr Duration kRecordPeriod = std::chrono::seconds(1);

std::string changes_between(const Rules& before, const Rules& after) {
  return advise::diff_json(advise::diff_rules(before, after));
}

}  // namespace

RulesModule::RulesModule(ServerContext& context, AdminToolsModule& tools)
    : context_(context),
      tools_(tools),
      rules_(rules_in_database(context.config) ? std::filesystem::path() : context.config.rules_path, *context.clock,
             context.log, *rules::format_from_name(context.config.rules_format)),
      record_(std::make_shared<RuleRecord>(rules_, context, tools)) {}

RulesModule::~RulesModule() { book()->remove_user(*record_); }

Status RulesModule::open() {
  book()->stamp_with([record = record_.get()](const rules::RulesBase& base, std::uint64_t number) {
    return record->make_stamp(base, number);
  });
  book()->add_user(*record_);
  if (!rules_in_database(context_.config)) {
    rules_.on_loaded([this] { record_->note_load(); });
  } else if (control::ChangeWatch* const watch = tools_.watch()) {
    watch->add(std::string(control::kRulesTopic), *record_);
  }
  return success();
}

// The watch has already loaded rules of the database, if there are any.
Status RulesModule::load() {
  if (!rules_in_database(context_.config)) return rules_.load();
  if (record_->has_version()) return success();
  if (!tools_.databases().is_ready()) {
    return Failure{Code::unavailable,
                   "rules: are in the database, which does not answer, and this node has not kept any"};
  }
  return rules_.load();
}

Status RulesModule::start() {
  if (Status loaded = load(); !loaded.ok()) {
    const bool away = loaded.failure().code == Code::unavailable && rules_in_database(context_.config);
    return Failure{away ? Code::unavailable : Code::invalid_argument, loaded.failure().message};
  }
  context_.add_task(kWatchPeriod, [this] { rules_.poll(); });
  context_.add_task(kRecordPeriod, [this] { record_->flush(); });
  tools_.add_routes([this](admin::Api& api) {
    admin::add_rules_routes(api, {.view = record_, .offload = offload_, .diff = changes_between});
  });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

void RulesModule::add_facts(observe::Facts& facts) const {
  facts.reloads_succeeded = book()->successes();
  facts.reloads_failed = book()->failures();
  facts.reloads_unchanged = book()->unchanged();
  facts.rules_last_success = book()->last_success();
  facts.rules_current = book()->last_error().empty();
  const std::shared_ptr<const rules::RuleSet> active = book()->current();
  facts.rules_loaded = active->rules().size();
  facts.rules_version = active->told_version();
  facts.more.push_back(
      {.name = "weir_rules_info",
       .help = {},  // of the table
       .kind = observe::FactMetric::Kind::gauge,
       .value = 1,
       .labels = {{"version", std::to_string(facts.rules_version)}, {"hash", base::hex_text(active->told_hash())}}});
  for (std::size_t i = 0; i < rules::kMatchIssueCount; ++i) {
    const auto issue = static_cast<rules::MatchIssue>(i);
    facts.rule_issues.push_back({rules::match_issue_name(issue), book()->issues().total(issue)});
  }
}

void RulesModule::add_health(HealthDetails& details) const {
  const std::string error = book()->last_error();
  std::string members = error.empty() ? "\"current\":true" : "\"current\":false";
  if (rules_.retrying()) members += ",\"retrying\":true";
  if (details.for_operators()) {
    members += ",\"loaded\":" + std::to_string(book()->current()->rules().size());
    if (!error.empty()) members += error_member(error);
  }
  details.add_section("rules", members);
}

}  // namespace weir::server
