#include "server/modules/rules_module.h"

#include <string>

namespace weir::server {

RulesModule::RulesModule(ServerContext& context)
    : context_(context),
      rules_(context.config.rules_path, *context.clock, context.log,
             *rules::format_from_name(context.config.rules_format)) {}

Status RulesModule::start() {
  if (Status loaded = rules_.load(); !loaded.ok()) return Failure{Code::invalid_argument, loaded.failure().message};
  context_.add_task(kWatchPeriod, [this] { rules_.poll(); });
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
  facts.rules_loaded = book()->current()->rules().size();
  facts.rules_version = book()->current()->version();
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
