// weir quota: accounts of quotas in the server's database. Verbs that change something name who does it and why.
#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "base/json_text.h"
#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/quota_view.h"
#include "cli/verbs.h"
#include "ledger/ledger.h"
#include "ledger/operations/grants.h"
#include "ledger/operations/take.h"
#include "ledger/verify.h"
#include "rules/read/yaml_values.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;
using database::Outcome;
using ledger::Account;
using ledger::Answer;

struct QuotaOptions {
  DatabaseOption where;
  ledger::AccountFilter filter;
  std::string rule;
  std::string subject;
  std::string period;
  std::string actor;
  std::string reason;
  std::string expires = "365d";
  std::string id;
  std::int64_t amount = 0;
  std::int64_t priority = 0;
  bool json = false;
};

constexpr const char* kQuotaExitCodes = "Exit codes: 0 done, 1 not done or not right, 2 bad input, 3 failed.\n\n";

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

// The account that is named, or the latest of its rule and subject.
Result<Account> find(Database& database, const QuotaOptions& options) {
  ledger::AccountFilter filter;
  filter.rule = options.rule;
  filter.subject = options.subject;
  filter.period = options.period;
  filter.most = ledger::kMaxListed;
  Result<std::vector<Account>> found = list(database, filter);
  if (!found.ok()) return found.failure();
  if (found.value().empty()) {
    return Failure{Code::not_found, "no account of " + options.rule + " for " + options.subject +
                                        (options.period.empty() ? "" : " in " + options.period) +
                                        "; an account is opened by the first request that its rule counts"};
  }
  return *std::max_element(found.value().begin(), found.value().end(),
                           [](const Account& a, const Account& b) { return a.begins < b.begins; });
}

ledger::Terms terms_of(const Account& account) {
  return {.key = account.key,
          .tenant = account.tenant,
          .begins = account.begins,
          .ends = account.ends,
          .limit = account.limit,
          .since = account.limit_since,
          .grace = account.grace,
          .record_overage = account.record_overage,
          .thresholds = account.thresholds};
}

std::string operation_id(const QuotaOptions& options, std::string_view what) {
  if (!options.id.empty()) return std::string(what) + " " + options.id;
  return std::string(what) + " " + options.rule + " " +
         std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
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

// Runs an operation on one account, and shows what became of it.
template <typename Fill>
int change_account(const QuotaOptions& options, const Terminal& terminal, std::string_view verb, Fill fill) {
  const auto fail = [&](const Failure& failure) { return report_failure(terminal, verb, options.json, failure); };
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const Result<Account> account = find(*database.value(), options);
  if (!account.ok()) return fail(account.failure());
  ProcessClock clock;
  ledger::Ledger ledger(*database.value(), clock);
  Result<std::unique_ptr<ledger::Operation>> operation = fill(account.value());
  if (!operation.ok()) return fail(operation.failure());
  operation.value()->actor = options.actor;
  operation.value()->reason = options.reason;
  const Result<Answer> answer = ledger.run(std::move(operation).value());
  if (!answer.ok()) return fail(answer.failure());
  if (answer.value().verdict != ledger::Verdict::done) {
    fail({Code::failed_precondition, answer.value().message});
    return kExitDenied;
  }
  if (options.json) {
    print_accounts_json(terminal.out, answer.value().accounts);
  } else {
    print_accounts(terminal, answer.value().accounts);
  }
  return kExitAllowed;
}

int grant(const QuotaOptions& options, const Terminal& terminal) {
  return change_account(options, terminal, "weir quota grant", [&](const Account& account) {
    using Made = Result<std::unique_ptr<ledger::Operation>>;
    const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    auto made = std::make_unique<ledger::GrantUnits>();
    made->id = operation_id(options, "grant");
    made->terms = terms_of(account);
    made->amount = options.amount;
    made->priority = options.priority;
    if (const Result<Duration> in = rules::parse_duration(options.expires); in.ok()) {
      made->expires = now + in.value();
    } else if (const Result<TimePoint> at = rules::parse_instant(options.expires); at.ok()) {
      made->expires = at.value();
    } else {
      return Made(Failure{Code::invalid_argument,
                          "--expires: expected a duration such as 90d, or a time such as 2026-12-31T00:00:00Z"});
    }
    return Made(std::move(made));
  });
}

int adjust(const QuotaOptions& options, const Terminal& terminal) {
  return change_account(options, terminal, "weir quota adjust", [&](const Account& account) {
    auto made = std::make_unique<ledger::Adjust>();
    made->id = operation_id(options, "adjust");
    made->terms = terms_of(account);
    made->amount = options.amount;
    return Result<std::unique_ptr<ledger::Operation>>(std::move(made));
  });
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

std::string user_name() {
  const char* const user = std::getenv("USER");
  return user == nullptr || *user == '\0' ? "cli" : user;
}

void add_account_options(Command& verb, QuotaOptions& options) {
  options.actor = user_name();
  verb.word("RULE", options.rule, "The quota rule's id").required();
  verb.word("SUBJECT", options.subject, "Whose account, as `weir quota show` names it: tenant=acme").required();
  verb.text("--period", options.period, "The period, such as 2026-03; default: the latest").value("PERIOD");
  verb.text("--reason", options.reason, "Why; kept with the entry").value("TEXT").required();
  verb.text("--actor", options.actor, "Who; default: $USER").value("NAME");
  verb.text("--id", options.id, "Makes the change idempotent: an id is used once").value("ID");
  options.where.add_to(verb);
  verb.flag("--json", options.json, "Answer as JSON");
}

}  // namespace

void add_quota_show(CLI::App& parent, Session& session) {
  auto options = std::make_shared<QuotaOptions>();
  Command verb(parent, "show", "List accounts: limit, used, held, available");
  verb.text("--tenant", options->filter.tenant, "Only of this tenant").value("NAME");
  verb.text("--rule", options->filter.rule, "Only of this rule").value("ID");
  verb.text("--subject", options->filter.subject, "Only of this subject").value("TEXT");
  verb.text("--period", options->filter.period, "Only of this period, such as 2026-03").value("PERIOD");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kQuotaExitCodes) + "Examples:\n  weir quota show --tenant acme --data-dir /var/lib/weir");
  verb.action(session, [options, &session] { return show_quota(*options, session.terminal); });
}

void add_quota_grant(CLI::App& parent, Session& session) {
  auto options = std::make_shared<QuotaOptions>();
  Command verb(parent, "grant", "Add units to an account: a top-up, used after the plan's allowance");
  verb.integer("--amount", options->amount, 1, kMaxUnits, "Units").value("N").required();
  verb.text("--expires", options->expires, "A duration or a time; default: 365d").value("WHEN");
  verb.integer("--priority", options->priority, -1'000'000, 1'000'000, "Lower ones are used first; default: 0")
      .value("N");
  add_account_options(verb, *options);
  verb.footer(std::string(kQuotaExitCodes) +
              "Examples:\n  weir quota grant exports-month tenant=acme --amount 500 --reason \"top-up 4711\"");
  verb.action(session, [options, &session] { return grant(*options, session.terminal); });
}

void add_quota_adjust(CLI::App& parent, Session& session) {
  auto options = std::make_shared<QuotaOptions>();
  Command verb(parent, "adjust", "Correct what an account has used: positive charges, negative credits");
  verb.integer("--amount", options->amount, -kMaxUnits, kMaxUnits, "Units; not 0").value("N").required();
  add_account_options(verb, *options);
  verb.footer(std::string(kQuotaExitCodes) +
              "Examples:\n  weir quota adjust exports-month tenant=acme --amount -3 --reason \"failed exports\"");
  verb.action(session, [options, &session] { return adjust(*options, session.terminal); });
}

void add_quota_verify(CLI::App& parent, Session& session) {
  auto options = std::make_shared<QuotaOptions>();
  Command verb(parent, "verify", "Prove from its entries that the ledger is right");
  options->where.add_to(verb);
  verb.flag("--json", options->json, "Answer as JSON");
  verb.footer(std::string(kQuotaExitCodes) + "Examples:\n  weir quota verify --database postgres://weir@db/weir");
  verb.action(session, [options, &session] { return verify_ledger(*options, session.terminal); });
}

}  // namespace weir::cli
