// weir quota grant, adjust, reverse: what people change in accounts. Through the admin API where --admin or WEIR_ADMIN
// names a server, else in the database itself, for when no server runs. Both write one entry to the audit trail.
#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/command.h"
#include "cli/database_option.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/local_database.h"
#include "cli/quota_view.h"
#include "cli/verbs.h"
#include "control/audit_trail.h"
#include "ledger/account_change.h"
#include "ledger/account_json.h"
#include "ledger/books.h"
#include "ledger/ledger.h"
#include "rules/read/yaml_values.h"

namespace weir::cli {
namespace {

using database::Access;
using database::Database;
using database::Outcome;
using ledger::Account;
using ledger::AccountChange;
using ChangeKind = ledger::AccountChange::Kind;

struct ChangeOptions {
  AdminOptions admin;
  DatabaseOption where;
  std::string rule;
  std::string subject;
  std::string period;
  std::string expires = "365d";
  std::string id;
  AccountChange change;
};

constexpr const char* kChangeFooter =
    "With --admin, or WEIR_ADMIN and neither --database nor --data-dir, the server changes the account; otherwise this "
    "program changes it in the database, also while servers run.\nExit codes: 0 done, 1 not done, 2 bad input, 3 "
    "failed.\n\n";

bool asks_server(const ChangeOptions& options) {
  if (!options.admin.server.server.empty()) return true;
  const char* const set = std::getenv("WEIR_ADMIN");
  const DatabaseOption unset;
  const bool has_place = !options.where.data_dir.empty() || options.where.database != unset.database;
  return set != nullptr && *set != '\0' && !has_place;
}

Failure no_account(const ChangeOptions& options) {
  return {Code::not_found, "no account of " + options.rule + " for " + options.subject +
                               (options.period.empty() ? "" : " in " + options.period) +
                               "; an account is opened by the first request that its rule counts"};
}

// Through the server.
Result<std::string> change_by_server(AdminClient& client, const ChangeOptions& options) {
  std::string path = "/accounts?rule=" + percent_encoded(options.rule) + "&subject=" + percent_encoded(options.subject);
  if (!options.period.empty()) path += "&period=" + percent_encoded(options.period);
  const Result<std::vector<std::string>> found = client.list(path);
  if (!found.ok()) return found.failure();
  if (found.value().empty()) return no_account(options);
  const std::string& account =
      *std::max_element(found.value().begin(), found.value().end(), [](const std::string& a, const std::string& b) {
        return member_text(a, "begins_at") < member_text(b, "begins_at");
      });
  JsonObject body;
  if (options.change.kind == ChangeKind::reverse) {
    body.text("operation", options.change.operation);
  } else {
    body.raw("amount", std::to_string(options.change.amount));
  }
  if (options.change.kind == ChangeKind::grant) {
    body.raw("priority", std::to_string(options.change.priority));
    body.text("expires_at", options.expires);
  }
  body.text("reason", options.change.reason);
  if (!options.id.empty()) body.text("id", options.id);
  return client.post(
      "/accounts/" + member_text(account, "id") + "/" + std::string(ledger::change_name(options.change.kind)),
      body.take());
}

void show_changed(const Terminal& terminal, const std::string& json) {
  std::vector<Column> columns;
  for (const auto& [title, name] : std::vector<std::pair<std::string, std::string>>{{"RULE", "rule"},
                                                                                    {"SUBJECT", "subject"},
                                                                                    {"PERIOD", "period"},
                                                                                    {"LIMIT", "limit"},
                                                                                    {"USED", "used"},
                                                                                    {"HELD", "held"},
                                                                                    {"EXPIRED", "expired"},
                                                                                    {"AVAILABLE", "available"},
                                                                                    {"GRANTED", "granted"},
                                                                                    {"OVERAGE", "overage"}}) {
    columns.push_back({title, [name = name](const std::string& item) { return member_text(item, name); }});
  }
  show_items(terminal, false, {json}, columns, "");
}

// In the database. The account that is named, or the latest of its rule and subject.
Result<Account> find_account(Database& database, const ChangeOptions& options) {
  ledger::AccountFilter filter;
  filter.rule = options.rule;
  filter.subject = options.subject;
  filter.period = options.period;
  filter.most = ledger::kMaxListed;
  std::vector<Account> accounts;
  const Outcome outcome = database.run(Access::read, [&](database::Session& session) -> Status {
    Result<std::vector<Account>> found = ledger::list_accounts(session, filter);
    if (!found.ok()) return found.failure();
    accounts = std::move(found).value();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  if (accounts.empty()) return no_account(options);
  return *std::max_element(accounts.begin(), accounts.end(),
                           [](const Account& a, const Account& b) { return a.begins < b.begins; });
}

std::string described(const Account& account) {
  std::string json;
  ledger::append_account_json(json, account);
  return json;
}

Status audit(database::Session& session, const ledger::Books& books, const ledger::Answer& answer,
             const AccountChange& change, std::int64_t account) {
  control::AuditEntry entry;
  entry.at = books.now();
  entry.actor = change.actor;
  entry.action = "account." + std::string(ledger::change_name(change.kind));
  entry.object = "account/" + std::to_string(account);
  entry.reason = change.reason;
  entry.from = local_actor().name;
  const auto before = books.accounts.find(account);
  if (before != books.accounts.end() && before->second.read) entry.before = described(*before->second.read);
  for (const Account& after : answer.accounts) {
    if (after.id == account) entry.after = described(after);
  }
  return control::append(session, entry);
}

int change_in_database(const ChangeOptions& options, const Terminal& terminal, const std::string& verb) {
  const auto fail = [&](const Failure& failure) { return report_failure(terminal, verb, options.admin.json, failure); };
  const Result<std::unique_ptr<Database>> database = options.where.open();
  if (!database.ok()) return fail(database.failure());
  const Result<Account> account = find_account(*database.value(), options);
  if (!account.ok()) return fail(account.failure());
  ProcessClock clock;
  AccountChange change = options.change;
  if (change.kind == ChangeKind::grant) {
    Result<TimePoint> expires = rules::parse_instant(options.expires);
    if (const Result<Duration> in = rules::parse_duration(options.expires); in.ok())
      expires = clock.wall() + in.value();
    if (!expires.ok()) {
      return fail({Code::invalid_argument,
                   "--expires: expected a duration such as 90d, or a time such as 2026-12-31T00:00:00Z"});
    }
    change.expires = expires.value();
  }
  if (!options.id.empty()) change.key = ledger::key_of_id(options.id);
  ledger::Ledger ledger(*database.value(), clock);
  std::unique_ptr<ledger::Operation> operation = ledger::make_change(account.value(), change, clock.wall());
  operation->also = [change, id = account.value().id](database::Session& session, const ledger::Books& books,
                                                      const ledger::Answer& answer) {
    return audit(session, books, answer, change, id);
  };
  const Result<ledger::Answer> answer = ledger.run(std::move(operation));
  if (!answer.ok()) return fail(answer.failure());
  if (answer.value().verdict != ledger::Verdict::done) {
    fail({Code::failed_precondition, answer.value().message});
    return kExitDenied;
  }
  if (options.admin.json) {
    print_accounts_json(terminal.out, answer.value().accounts);
  } else {
    print_accounts(terminal, answer.value().accounts);
  }
  return kExitAllowed;
}

int change(const ChangeOptions& options, const Terminal& terminal) {
  const std::string verb = "weir quota " + std::string(ledger::change_name(options.change.kind));
  if (!asks_server(options)) return change_in_database(options, terminal, verb);
  return run_admin(
      terminal, verb, options.admin, [&](AdminClient& client) { return change_by_server(client, options); },
      [&](const std::string& answer) { show_changed(terminal, answer); });
}

std::shared_ptr<ChangeOptions> options_of(ChangeKind kind) {
  auto options = std::make_shared<ChangeOptions>();
  options->change.kind = kind;
  const char* const user = std::getenv("USER");
  options->change.actor = user == nullptr || *user == '\0' ? "cli" : user;
  return options;
}

void add_change_options(Command& verb, ChangeOptions& options) {
  verb.word("RULE", options.rule, "The quota rule's id").required();
  verb.word("SUBJECT", options.subject, "Whose account, as `weir quota show` names it: tenant=acme").required();
  verb.text("--period", options.period, "The period, such as 2026-03; default: the latest").value("PERIOD");
  verb.text("--reason", options.change.reason, "Why; kept with the entry and in the audit trail")
      .value("TEXT")
      .required();
  verb.text("--actor", options.change.actor,
            "Your name, if the database is changed directly; default: $USER. A server takes it from the token")
      .value("NAME");
  verb.text("--id", options.id, "Makes the change idempotent: an id changes the account once").value("ID");
  options.where.add_to(verb);
  add_admin_options(verb, options.admin);
}

}  // namespace

void add_quota_grant(CLI::App& parent, Session& session) {
  const auto options = options_of(ChangeKind::grant);
  Command verb(parent, "grant", "Add units to an account: a top-up, used after the plan's allowance");
  verb.integer("--amount", options->change.amount, 1, kMaxUnits, "Units").value("N").required();
  verb.text("--expires", options->expires, "When the grant expires, a duration or a time; default: 365d").value("WHEN");
  verb.integer("--priority", options->change.priority, -1'000'000, 1'000'000,
               "Grants with a lower number are used first; default: 0")
      .value("N");
  add_change_options(verb, *options);
  verb.footer(std::string(kChangeFooter) +
              "Examples:\n  weir quota grant exports-month tenant=acme --amount 500 --reason \"top-up 4711\"");
  verb.action(session, [options, &session] { return change(*options, session.terminal); });
}

void add_quota_adjust(CLI::App& parent, Session& session) {
  const auto options = options_of(ChangeKind::adjust);
  Command verb(parent, "adjust", "Correct what an account has used: positive charges, negative credits");
  verb.integer("--amount", options->change.amount, -kMaxUnits, kMaxUnits, "Units; not 0").value("N").required();
  add_change_options(verb, *options);
  verb.footer(std::string(kChangeFooter) +
              "Examples:\n  weir quota adjust exports-month tenant=acme --amount -3 --reason \"failed exports\"");
  verb.action(session, [options, &session] { return change(*options, session.terminal); });
}

void add_quota_reverse(CLI::App& parent, Session& session) {
  const auto options = options_of(ChangeKind::reverse);
  Command verb(parent, "reverse", "Give back what one operation used, in all its accounts, once");
  verb.text("--operation", options->change.operation, "The operation's id, as `weir quota export` prints it")
      .value("ID")
      .required();
  add_change_options(verb, *options);
  verb.footer(std::string(kChangeFooter) +
              "Examples:\n  weir quota reverse exports-month tenant=acme --operation ID --reason \"failed export\"");
  verb.action(session, [options, &session] { return change(*options, session.terminal); });
}

}  // namespace weir::cli
