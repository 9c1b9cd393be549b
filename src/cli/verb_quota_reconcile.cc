// weir quota reconcile: whether nodes and the ledger agree.
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <thread>

#include "cli/admin_client.h"
#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/quota_view.h"
#include "cli/verbs.h"
#include "ledger/reading.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;
using database::Outcome;

// How long a node is asked again while units move between it and the ledger.
constexpr auto kReconcilePatience = std::chrono::seconds(10);
constexpr auto kReconcilePause = std::chrono::milliseconds(20);

struct UpkeepOptions {
  AdminOptions admin;
  DatabaseOption where;
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
  const auto end = std::chrono::steady_clock::now() + kReconcilePatience;
  while (true) {
    const Result<std::string> asked = client.value().get("/quota-gate");
    if (!asked.ok()) {
      return report_failure(terminal, kVerb, options.admin.json, asked.failure(), admin_hint_for(asked.failure()));
    }
    answer = asked.value();
    // What differs while nothing moves will not agree later.
    if (member_text(answer, "agrees") == "true" || member_text(answer, "still") == "true") break;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(kReconcilePause);
  }
  const bool agrees = member_text(answer, "agrees") == "true";
  const bool still = member_text(answer, "still") == "true";
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
               << (agrees  ? terminal.paint(Colour::green, "agrees with the ledger")
                   : still ? terminal.paint(Colour::red, "differs from the ledger")
                           : terminal.paint(Colour::red, "differs from the ledger, and units kept moving"))
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

}  // namespace

void add_quota_reconcile(CLI::App& parent, Session& session) {
  const auto options = std::make_shared<UpkeepOptions>();
  Command verb(parent, "reconcile",
               "Compare what a node holds with the ledger, or list what nodes hold according to the ledger");
  options->where.add_to(verb);
  add_admin_options(verb, options->admin);
  verb.footer(
      "With --admin, or WEIR_ADMIN and neither --database nor --data-dir: asks that node. "
      "Otherwise: lists what nodes hold according to the ledger, and what they have not reported "
      "in time.\nExit codes: 0 agrees, 1 differs or overdue, 2 bad input, 3 "
      "failed.\n\nExamples:\n  weir quota reconcile --admin http://127.0.0.1:8082\n  weir quota "
      "reconcile --data-dir /var/lib/weir");
  verb.action(session, [options, &session] {
    return names_server(*options) ? reconcile_node(*options, session.terminal)
                                  : reconcile_ledger(*options, session.terminal);
  });
}

}  // namespace weir::cli
