// weir quota reconcile and prune: whether nodes and the ledger agree, and removing what is too old.
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <thread>

#include "cli/admin_client.h"
#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/local_database.h"
#include "cli/quota_view.h"
#include "cli/verbs.h"
#include "control/audit_trail.h"
#include "ledger/reading.h"
#include "ledger/retention.h"
#include "rules/read/yaml_values.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;
using database::Outcome;

// What moves between a node and the ledger is in one of them a moment later.
constexpr int kReconcileTries = 20;
constexpr auto kReconcilePause = std::chrono::milliseconds(300);

struct UpkeepOptions {
  AdminOptions admin;
  DatabaseOption where;
  std::string keep;
  std::string reason;
  std::int64_t exported = 0;
  bool dry_run = false;
};

bool names_server(const UpkeepOptions& options) {
  if (!options.admin.server.server.empty()) return true;
  const char* const set = std::getenv("WEIR_ADMIN");
  const DatabaseOption unset;
  const bool has_place = !options.where.data_dir.empty() || options.where.database != unset.database;
  return set != nullptr && *set != '\0' && !has_place;
}

// The node's gate beside the ledger.
int reconcile_node(const UpkeepOptions& options, const Terminal& terminal) {
  constexpr std::string_view kVerb = "weir quota reconcile";
  Result<AdminClient> client = AdminClient::connect(options.admin, terminal);
  if (!client.ok()) return report_failure(terminal, kVerb, options.admin.json, client.failure());
  std::string answer;
  for (int i = 0; i < kReconcileTries; ++i) {
    const Result<std::string> asked = client.value().get("/quota-gate");
    if (!asked.ok()) {
      return report_failure(terminal, kVerb, options.admin.json, asked.failure(), hint_for(asked.failure()));
    }
    answer = asked.value();
    if (member_text(answer, "agrees") == "true") break;
    std::this_thread::sleep_for(kReconcilePause);
  }
  const bool agrees = member_text(answer, "agrees") == "true";
  if (options.admin.json) {
    terminal.out << answer << '\n';
    return agrees ? kExitAllowed : kExitDenied;
  }
  const std::vector<std::string> items = items_of(answer);
  std::vector<Column> columns;
  for (const auto& [title, name] : std::vector<std::pair<std::string, std::string>>{{"RULE", "rule"},
                                                                                    {"SUBJECT", "subject"},
                                                                                    {"PERIOD", "period"},
                                                                                    {"LEFT", "left"},
                                                                                    {"PENDING", "pending"},
                                                                                    {"UNLOGGED", "unlogged"},
                                                                                    {"UNSENT", "unsent"},
                                                                                    {"LEDGER", "held"},
                                                                                    {"AGREES", "agrees"}}) {
    columns.push_back({title, [name = name](const std::string& item) { return member_text(item, name); }});
  }
  show_items(terminal, false, items, columns, "the node holds nothing");
  terminal.out << member_text(answer, "node") << ", epoch " << member_text(answer, "epoch") << ": "
               << (agrees ? terminal.paint(Colour::green, "agrees with the ledger")
                          : terminal.paint(Colour::red, "differs from the ledger"))
               << '\n';
  return agrees ? kExitAllowed : kExitDenied;
}

// What the ledger says about all nodes.
int reconcile_ledger(const UpkeepOptions& options, const Terminal& terminal) {
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) {
    return report_failure(terminal, "weir quota reconcile", options.admin.json, database.failure());
  }
  std::vector<ledger::HeldByNode> held;
  const Outcome outcome = database.value()->run(Access::read, [&](database::Session& session) -> Status {
    Result<std::vector<ledger::HeldByNode>> found = ledger::list_slices(session, ledger::kMaxListed);
    if (!found.ok()) return found.failure();
    held = std::move(found).value();
    return success();
  });
  if (!outcome.ok()) {
    return report_failure(terminal, "weir quota reconcile", options.admin.json, outcome.status.failure());
  }
  print_slices(terminal, held, options.admin.json);
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  bool overdue = false;
  for (const ledger::HeldByNode& each : held) overdue = overdue || (each.slice.held > 0 && each.slice.expires < now);
  return overdue ? kExitDenied : kExitAllowed;
}

Status audit_pruned(database::Session& session, const ledger::Pruned& pruned, const UpkeepOptions& options,
                    TimePoint now) {
  control::AuditEntry entry;
  entry.at = now;
  entry.actor = local_actor().name;
  entry.action = "quota.prune";
  entry.object = "ledger";
  entry.after = "{\"accounts\":" + std::to_string(pruned.accounts) + ",\"entries\":" + std::to_string(pruned.entries) +
                ",\"exported\":" + std::to_string(options.exported) + "}";
  entry.reason = options.reason;
  return control::append(session, entry);
}

int prune_ledger(const UpkeepOptions& options, bool json, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) { return report_failure(terminal, "weir quota prune", json, failure); };
  const Result<Duration> keep = rules::parse_duration(options.keep);
  if (!keep.ok()) return fail({Code::invalid_argument, "--keep: " + keep.failure().message});
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const ledger::Retention retention{now - keep.value(), options.exported, options.dry_run};
  const Result<ledger::Pruned> pruned =
      ledger::prune(*database.value(), retention, now, [&](database::Session& session, const ledger::Pruned& sums) {
        return audit_pruned(session, sums, options, now);
      });
  if (!pruned.ok()) return fail(pruned.failure());
  const ledger::Pruned& sums = pruned.value();
  if (json) {
    terminal.out << "{\"accounts\":" << sums.accounts << ",\"entries\":" << sums.entries
                 << ",\"not_exported\":" << sums.unexported << "}\n";
  } else {
    terminal.out << (options.dry_run ? "would remove " : "removed ") << sums.entries << " entries of " << sums.accounts
                 << " accounts";
    if (sums.unexported > 0) terminal.out << "; " << sums.unexported << " have entries that were not exported";
    terminal.out << '\n';
  }
  return sums.unexported == 0 ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_quota_reconcile(CLI::App& parent, Session& session) {
  const auto options = std::make_shared<UpkeepOptions>();
  Command verb(parent, "reconcile", "Compare what a node holds with the ledger, or show what the ledger says of nodes");
  options->where.add_to(verb);
  add_admin_options(verb, options->admin);
  verb.footer(
      "With --admin, or WEIR_ADMIN and neither --database nor --data-dir: asks that node. Otherwise: what the ledger "
      "says that nodes hold, and what they have not reported in time.\n"
      "Exit codes: 0 agrees, 1 differs or overdue, 2 bad input, 3 failed.\n\n"
      "Examples:\n  weir quota reconcile --admin http://127.0.0.1:8082\n  weir quota reconcile --data-dir "
      "/var/lib/weir");
  verb.action(session, [options, &session] {
    return names_server(*options) ? reconcile_node(*options, session.terminal)
                                  : reconcile_ledger(*options, session.terminal);
  });
}

void add_quota_prune(CLI::App& parent, Session& session) {
  const auto options = std::make_shared<UpkeepOptions>();
  Command verb(parent, "prune", "Remove entries of periods that ended long ago and were exported");
  verb.text("--keep", options->keep, "Periods that ended within this time stay, such as 400d; at least 1d")
      .value("DURATION")
      .required();
  verb.integer("--exported", options->exported, 0, std::int64_t{1} << 62,
               "The cursor that the last `weir quota export` printed: only entries up to it are removed")
      .value("CURSOR")
      .required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  verb.flag("--dry-run", options->dry_run, "Only say what would be removed");
  options->where.add_to(verb);
  verb.flag("--json", options->admin.json, "Answer as JSON");
  verb.footer(
      "What each account came to stays in the archive of the database. Open periods, what is held and grants that are "
      "left are never touched.\n"
      "Exit codes: 0 done, 1 some accounts were not exported yet, 2 bad input, 3 failed.\n\n"
      "Examples:\n  weir quota export > entries.ndjson 2> cursor\n"
      "  weir quota prune --keep 400d --exported 81234 --reason \"retention\"");
  verb.action(session, [options, &session] { return prune_ledger(*options, options->admin.json, session.terminal); });
}

}  // namespace weir::cli
