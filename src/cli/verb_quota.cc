// weir quota show and verify: accounts of quotas in the server's database.
#include <ostream>

#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/quota_view.h"
#include "cli/verbs.h"
#include "ledger/verify.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;
using database::Outcome;
using ledger::Account;

struct QuotaOptions {
  DatabaseOption where;
  ledger::AccountFilter filter;
  bool json = false;
};

constexpr const char* kQuotaExitCodes =
    "Exit codes: 0 done, 1 not done, or the ledger is wrong, 2 bad input, 3 "
    "failed.\n\n";

Result<std::vector<Account>> list(Database& database, const ledger::AccountFilter& filter) {
  std::vector<Account> accounts;
  const Outcome outcome = database.run(Access::read, [&](database::Session& session) -> Status {
    Result<std::vector<Account>> found = ledger::list_accounts(session, filter);
    if (!found.ok()) return found.failure();
    accounts = std::move(found).value();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return accounts;
}

int show_quota(const QuotaOptions& options, const Terminal& terminal) {
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return report_failure(terminal, "weir quota show", options.json, database.failure());
  const Result<std::vector<Account>> accounts = list(*database.value(), options.filter);
  if (!accounts.ok()) return report_failure(terminal, "weir quota show", options.json, accounts.failure());
  if (options.json) {
    print_accounts_json(terminal.out, accounts.value());
  } else {
    print_accounts(terminal, accounts.value());
  }
  return kExitAllowed;
}

int verify_ledger(const QuotaOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir quota verify", options.json, failure);
  };
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const Result<ledger::VerifyReport> verified = ledger::verify(*database.value());
  if (!verified.ok()) return fail(verified.failure());
  const ledger::VerifyReport& report = verified.value();
  if (options.json) {
    print_verify_json(terminal.out, report);
  } else {
    terminal.out << report.accounts << " accounts, " << report.entries << " entries, " << report.reservations
                 << " reservations, " << report.grants << " grants: "
                 << (report.ok() ? terminal.paint(Colour::green, "right")
                                 : terminal.paint(Colour::red, std::to_string(report.violations) + " violations"))
                 << '\n';
    for (const std::string& each : report.examples) terminal.out << "  " << shown(each) << '\n';
  }
  return report.ok() ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_quota_show(CLI::App& parent, Session& session) {
  auto options = std::make_shared<QuotaOptions>();
  Command verb(parent, "show", "List accounts: limit, used, held, available");
  verb.text("--tenant", options->filter.tenant, "Only this tenant").value("NAME");
  verb.text("--rule", options->filter.rule, "Only this rule").value("ID");
  verb.text("--subject", options->filter.subject, "Only this subject").value("TEXT");
  verb.text("--period", options->filter.period, "Only this period, such as 2026-03").value("PERIOD");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kQuotaExitCodes) + "Examples:\n  weir quota show --tenant acme --data-dir /var/lib/weir");
  verb.action(session, [options, &session] { return show_quota(*options, session.terminal); });
}

void add_quota_verify(CLI::App& parent, Session& session) {
  auto options = std::make_shared<QuotaOptions>();
  Command verb(parent, "verify", "Check every balance of the ledger against its entries");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kQuotaExitCodes) + "Examples:\n  weir quota verify --database postgres://weir@db/weir");
  verb.action(session, [options, &session] { return verify_ledger(*options, session.terminal); });
}

}  // namespace weir::cli
