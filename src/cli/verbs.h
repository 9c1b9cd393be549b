// The verbs of the program, one file each. Each add_… puts its verb, with options, help and examples, under `parent`;
// when the command line names it, it leaves what to do in `session`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct Session {
  const Terminal& terminal;
  std::function<int()> action;         // returns an ExitCode
  std::vector<std::string> command{};  // what follows `--`, for verbs that run a command
};

void add_serve(CLI::App& parent, Session& session);
void add_check(CLI::App& parent, Session& session);
void add_refund(CLI::App& parent, Session& session);
void add_reset(CLI::App& parent, Session& session);
void add_lease_run(CLI::App& parent, Session& session);
void add_lease_list(CLI::App& parent, Session& session);
void add_lease_release(CLI::App& parent, Session& session);
void add_reserve_take(CLI::App& parent, Session& session);
void add_reserve_commit(CLI::App& parent, Session& session);
void add_reserve_release(CLI::App& parent, Session& session);
void add_reserve_extend(CLI::App& parent, Session& session);
void add_reserve_list(CLI::App& parent, Session& session);
void add_rules_validate(CLI::App& parent, Session& session);
void add_rules_explain(CLI::App& parent, Session& session);
void add_rules_import(CLI::App& parent, Session& session);
void add_rules_simulate(CLI::App& parent, Session& session);
void add_rules_diff(CLI::App& parent, Session& session);
void add_rules_review(CLI::App& parent, Session& session);
void add_rules_estimate(CLI::App& parent, Session& session);
void add_rules_advise(CLI::App& parent, Session& session);
void add_rules_candidate(CLI::App& parent, Session& session);
void add_metrics(CLI::App& parent, Session& session);
void add_token_hash(CLI::App& parent, Session& session);
void add_override_set(CLI::App& parent, Session& session);
void add_override_list(CLI::App& parent, Session& session);
void add_override_remove(CLI::App& parent, Session& session);
void add_block_add(CLI::App& parent, Session& session);
void add_block_list(CLI::App& parent, Session& session);
void add_block_remove(CLI::App& parent, Session& session);
void add_tenant_set(CLI::App& parent, Session& session);
void add_tenant_list(CLI::App& parent, Session& session);
void add_tenant_show(CLI::App& parent, Session& session);
void add_tenant_remove(CLI::App& parent, Session& session);
void add_key_create(CLI::App& parent, Session& session);
void add_key_list(CLI::App& parent, Session& session);
void add_key_revoke(CLI::App& parent, Session& session);
void add_token_create(CLI::App& parent, Session& session);
void add_token_list(CLI::App& parent, Session& session);
void add_token_revoke(CLI::App& parent, Session& session);
void add_audit(CLI::App& parent, Session& session);
void add_quota_show(CLI::App& parent, Session& session);
void add_quota_grant(CLI::App& parent, Session& session);
void add_quota_adjust(CLI::App& parent, Session& session);
void add_quota_reverse(CLI::App& parent, Session& session);
void add_quota_exported(CLI::App& parent, Session& session);
void add_quota_prune(CLI::App& parent, Session& session);
void add_quota_verify(CLI::App& parent, Session& session);
void add_quota_reconcile(CLI::App& parent, Session& session);
void add_quota_export(CLI::App& parent, Session& session);
void add_database_status(CLI::App& parent, Session& session);
void add_database_migrate(CLI::App& parent, Session& session);
void add_database_backup(CLI::App& parent, Session& session);
void add_redis_inspect(CLI::App& parent, Session& session);
void add_why(CLI::App& parent, Session& session);
void add_tail(CLI::App& parent, Session& session);
void add_status(CLI::App& parent, Session& session);
void add_top(CLI::App& parent, Session& session);
void add_bench(CLI::App& parent, Session& session);
void add_version(CLI::App& parent, Session& session);
void add_completion(CLI::App& parent, Session& session);

}  // namespace weir::cli
