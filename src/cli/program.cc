#include "cli/program.h"

#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/usage_error.h"
#include "cli/verbs.h"
#include "server/version.h"

namespace weir::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 allowed or done, 1 denied, 2 wrong usage or an "
    "invalid file,\n3 the server cannot be reached or the "
    "operation failed.\n\nExamples:\n  weir "
    "serve                                   quickstart: memory "
    "store, built-in rules\n  weir check tenant=acme "
    "api_key=k1            ask the server on 127.0.0.1:8080\n  "
    "weir rules validate rules.yaml               check a rules "
    "file\n  weir rules explain rules.yaml tenant=acme    which "
    "rules apply, and why others do not\n\n`weir VERB --help` "
    "describes each verb.";

void add_operator_verbs(CLI::App& program, Session& session) {
  Command override(program, "override", "Other limits for some requests, until a given time");
  override.requires_verb();
  add_override_set(override.app(), session);
  add_override_list(override.app(), session);
  add_override_remove(override.app(), session);
  Command block(program, "block", "Refuse some requests, until a given time");
  block.requires_verb();
  add_block_add(block.app(), session);
  add_block_list(block.app(), session);
  add_block_remove(block.app(), session);
  Command tenant(program, "tenant", "Plans, time zones and settings of tenants");
  tenant.requires_verb();
  add_tenant_set(tenant.app(), session);
  add_tenant_list(tenant.app(), session);
  add_tenant_show(tenant.app(), session);
  add_tenant_remove(tenant.app(), session);
  Command key(program, "key", "API keys bound to a tenant");
  key.requires_verb();
  add_key_create(key.app(), session);
  add_key_list(key.app(), session);
  add_key_revoke(key.app(), session);
}

void assemble(CLI::App& program, Session& session) {
  add_serve(program, session);
  add_check(program, session);
  add_refund(program, session);
  add_reset(program, session);
  Command lease(program, "lease", "Hold a slot of a concurrency rule, and list who holds one");
  lease.requires_verb();
  add_lease_run(lease.app(), session);
  add_lease_list(lease.app(), session);
  add_lease_release(lease.app(), session);
  Command reserve(program, "reserve", "Take cost before the work, and settle it afterwards");
  reserve.requires_verb();
  add_reserve_take(reserve.app(), session);
  add_reserve_commit(reserve.app(), session);
  add_reserve_release(reserve.app(), session);
  add_reserve_extend(reserve.app(), session);
  add_reserve_list(reserve.app(), session);
  Command rules(program, "rules", "Work with rules files");
  rules.requires_verb();
  add_rules_validate(rules.app(), session);
  add_rules_explain(rules.app(), session);
  add_rules_import(rules.app(), session);
  add_rules_simulate(rules.app(), session);
  add_rules_diff(rules.app(), session);
  add_rules_review(rules.app(), session);
  add_rules_estimate(rules.app(), session);
  add_rules_advise(rules.app(), session);
  add_rules_candidate(rules.app(), session);
  Command token(program, "token", "Work with the tokens of the admin API and the HTTP API");
  token.requires_verb();
  add_token_create(token.app(), session);
  add_token_list(token.app(), session);
  add_token_revoke(token.app(), session);
  add_token_hash(token.app(), session);
  add_operator_verbs(program, session);
  add_audit(program, session);
  Command quota(program, "quota", "Show and correct quota accounts, and export them for billing");
  quota.requires_verb();
  add_quota_show(quota.app(), session);
  add_quota_grant(quota.app(), session);
  add_quota_adjust(quota.app(), session);
  add_quota_reverse(quota.app(), session);
  add_quota_verify(quota.app(), session);
  add_quota_reconcile(quota.app(), session);
  add_quota_export(quota.app(), session);
  add_quota_exported(quota.app(), session);
  add_quota_prune(quota.app(), session);
  Command database(program, "database", "Maintain the server's database");
  database.requires_verb();
  add_database_status(database.app(), session);
  add_database_migrate(database.app(), session);
  add_database_backup(database.app(), session);
  Command redis(program, "redis", "Inspect the Redis that Weir uses");
  redis.requires_verb();
  add_redis_inspect(redis.app(), session);
  add_why(program, session);
  add_tail(program, session);
  add_status(program, session);
  add_top(program, session);
  add_metrics(program, session);
  add_bench(program, session);
  add_version(program, session);
  add_completion(program, session);
}

// `weir lease run … -- command`: what follows the dashes is the command, whatever it looks like.
std::vector<std::string> take_command(std::vector<std::string>& words) {
  if (words.size() < 2 || words[0] != "lease" || words[1] != "run") return {};
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return {};
  std::vector<std::string> command(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return command;
}

}  // namespace

int run(std::vector<std::string> words, const Terminal& terminal) {
  Program program("Weir: rate limiting and quota enforcement", "weir " + std::string(server::kVersion), kFooter);
  Session session{terminal, {}, take_command(words)};
  assemble(program.app(), session);
  const VerbView view = view_of(program.app());
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  const auto refuse = [&](const UsageError& error) {
    return report_failure(terminal, error.verb, json, {Code::invalid_argument, error.message}, error.hint);
  };
  if (UsageError error; find_unknown_verb(view, words, error)) return refuse(error);
  const Parsed parsed = program.parse(std::move(words));
  if (parsed.kind == Parsed::Kind::wrong) return refuse(usage_error(view, parsed));
  if (parsed.kind == Parsed::Kind::action) return session.action();
  terminal.out << parsed.text;
  return kExitAllowed;
}

int run(int argc, char** argv) {
  const Terminal terminal{std::cout, std::cerr, takes_colours(1), takes_colours(2)};
  const int code = run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), terminal);
  std::cout.flush();
  return code == kExitAllowed && !std::cout ? kExitFailed : code;  // the disk was full, the pipe was closed
}

}  // namespace weir::cli
