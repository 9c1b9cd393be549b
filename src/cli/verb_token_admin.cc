// `weir token create|list|revoke`: the tokens of the admin API, over that API or on the database of a server.
#include <cstdlib>
#include <memory>
#include <ostream>

#include "admin/json_writer.h"
#include "admin/members.h"
#include "admin/token_routes.h"
#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/local_database.h"
#include "cli/verbs.h"
#include "control/audit_trail.h"
#include "control/change_log.h"
#include "control/tokens.h"

namespace weir::cli {
namespace {

using control::Token;

struct TokenOptions {
  AdminOptions admin;
  LocalDatabaseOptions local;
  std::string name;
  std::string role = "admin";
  std::string expires;
  std::string id;
  std::string reason;

  bool over_api() const {
    const char* const set = std::getenv("WEIR_ADMIN");
    return !admin.server.server.empty() || (set != nullptr && *set != '\0');
  }
};

Status audit_locally(database::Session& session, const LocalDatabase& local, TimePoint now, std::string action,
                     const std::string& id, std::string before, std::string after, std::string reason) {
  const control::Actor actor = local_actor();
  if (Status noted = control::note_change(session, control::kTokensTopic); !noted.ok()) return noted;
  return control::append(session, {.id = 0,
                                   .at = now,
                                   .actor = actor.name,
                                   .from = actor.from,
                                   .action = std::move(action),
                                   .object = "token/" + id,
                                   .before = std::move(before),
                                   .after = std::move(after),
                                   .reason = std::move(reason),
                                   .node = local.node});
}

// The same answer as the API's.
Result<std::string> create_locally(const TokenOptions& options) {
  ProcessClock clock;
  const TimePoint now = clock.wall();
  Token token;
  token.id = control::make_id("tok");
  token.name = options.name;
  token.role = control::role_from_name(options.role).value_or(control::Role::reader);
  token.created = now;
  token.actor = local_actor().name;
  if (const auto fault = control::token_name_fault(token.name)) {
    return Failure{Code::invalid_argument, "--name: " + *fault};
  }
  if (!options.expires.empty()) {
    const Result<TimePoint> expires = admin::parse_until(options.expires, now);
    if (!expires.ok()) return Failure{Code::invalid_argument, "--expires: " + expires.failure().message};
    token.expires = expires.value();
  }
  const std::string text = control::make_token_text();
  token.hash = control::hash_of_token(text);
  const Result<LocalDatabase> local = open_local_database(options.local);
  if (!local.ok()) return local.failure();
  const database::Outcome outcome =
      local.value().database->run(database::Access::write, [&](database::Session& session) -> Status {
        if (Status added = control::add_token(session, token); !added.ok()) return added;
        return audit_locally(session, local.value(), now, "token.create", token.id, "", admin::describe_token(token),
                             "");
      });
  if (!outcome.ok()) return outcome.status.failure();
  std::string answer = admin::describe_token(token);
  answer.pop_back();
  return answer + ",\"token\":\"" + text + "\"}";
}

Result<std::vector<std::string>> list_locally(const TokenOptions& options) {
  const Result<LocalDatabase> local = open_local_database(options.local);
  if (!local.ok()) return local.failure();
  std::vector<std::string> items;
  const database::Outcome outcome =
      local.value().database->run(database::Access::read, [&](database::Session& session) -> Status {
        items.clear();
        const Result<std::vector<Token>> tokens = control::read_tokens(session);
        if (!tokens.ok()) return tokens.failure();
        for (const Token& token : tokens.value()) items.push_back(admin::describe_token(token));
        return success();
      });
  if (!outcome.ok()) return outcome.status.failure();
  return items;
}

Result<std::string> revoke_locally(const TokenOptions& options) {
  const Result<LocalDatabase> local = open_local_database(options.local);
  if (!local.ok()) return local.failure();
  ProcessClock clock;
  const TimePoint now = clock.wall();
  const database::Outcome outcome =
      local.value().database->run(database::Access::write, [&](database::Session& session) -> Status {
        const Result<std::optional<Token>> found = control::find_token(session, options.id);
        if (!found.ok()) return found.failure();
        if (!found.value() || found.value()->revoked) {
          return Failure{Code::not_found, "no active token " + options.id};
        }
        Token after = *found.value();
        after.revoked = now;
        if (Status revoked = control::revoke_token(session, options.id, now); !revoked.ok()) return revoked;
        return audit_locally(session, local.value(), now, "token.revoke", options.id,
                             admin::describe_token(*found.value()), admin::describe_token(after), options.reason);
      });
  if (!outcome.ok()) return outcome.status.failure();
  return std::string();
}

int create_token(const TokenOptions& options, const Terminal& terminal) {
  const auto show = [&](const std::string& answer) {
    terminal.out << member_text(answer, "token") << '\n';
    terminal.err << terminal.paint(Colour::green, "created") << " " << member_text(answer, "id") << ": "
                 << member_text(answer, "name") << ", " << member_text(answer, "role")
                 << "; the token above is not shown again\n";
  };
  if (options.over_api()) {
    JsonObject body;
    body.text("name", options.name);
    body.text("role", options.role);
    body.text_if("expires_at", options.expires);
    return run_admin(
        terminal, "weir token create", options.admin,
        [&](AdminClient& client) { return client.post("/tokens", body.take()); }, show);
  }
  const Result<std::string> made = create_locally(options);
  if (!made.ok()) return report_failure(terminal, "weir token create", options.admin.json, made.failure());
  if (options.admin.json) {
    terminal.out << made.value() << '\n';
  } else {
    show(made.value());
  }
  return kExitAllowed;
}

int list_tokens(const TokenOptions& options, const Terminal& terminal) {
  Result<std::vector<std::string>> items = std::vector<std::string>();
  if (options.over_api()) {
    Result<AdminClient> client = AdminClient::connect(options.admin, terminal);
    items = client.ok() ? client.value().list("/tokens") : Result<std::vector<std::string>>(client.failure());
  } else {
    items = list_locally(options);
  }
  if (!items.ok()) {
    return report_failure(terminal, "weir token list", options.admin.json, items.failure(),
                          admin_hint_for(items.failure()));
  }
  const auto member = [](const std::string& title, const std::string& name) -> Column {
    return {title, [name](const std::string& item) { return member_text(item, name); }};
  };
  show_items(terminal, options.admin.json, items.value(),
             {member("ID", "id"), member("NAME", "name"), member("ROLE", "role"), member("CREATED", "created_at"),
              member("EXPIRES", "expires_at"), member("REVOKED", "revoked_at"), member("LAST USED", "last_used_at")},
             "there are no tokens");
  return kExitAllowed;
}

int revoke_token_verb(const TokenOptions& options, const Terminal& terminal) {
  const auto show = [&](const std::string&) {
    terminal.out << terminal.paint(Colour::green, "revoked") << " " << shown(options.id) << '\n';
  };
  if (options.over_api()) {
    return run_admin(
        terminal, "weir token revoke", options.admin,
        [&](AdminClient& client) { return client.remove("/tokens/" + percent_encoded(options.id), options.reason); },
        show);
  }
  const Result<std::string> done = revoke_locally(options);
  if (!done.ok()) return report_failure(terminal, "weir token revoke", options.admin.json, done.failure());
  if (options.admin.json) {
    terminal.out << "{}\n";
  } else {
    show("");
  }
  return kExitAllowed;
}

constexpr const char* kWhere =
    "With --admin or WEIR_ADMIN this calls the server; without, it uses the database, also while the server runs:\na "
    "running server notices within a second.\n";

}  // namespace

void add_token_create(CLI::App& parent, Session& session) {
  Command verb(parent, "create", "Make a token for the admin API, and print it once");
  const auto options = std::make_shared<TokenOptions>();
  verb.text("--name", options->name, "Name of its owner, for the audit trail").value("NAME").required();
  verb.choice("--role", options->role, {"reader", "operator", "admin"}, "What it may do");
  verb.text("--expires", options->expires, "When it expires: a time, or a duration such as 90d").value("TIME");
  add_admin_options(verb, options->admin);
  add_local_database_options(verb, options->local);
  verb.footer(std::string(kWhere) + kServerExitCodes +
              "Examples:\n"
              "  weir token create --name ada --role admin\n"
              "  weir token create --name prometheus --role reader --expires 90d --admin http://127.0.0.1:8082");
  verb.action(session, [&session, options] { return create_token(*options, session.terminal); });
}

void add_token_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "List the tokens of the admin API");
  const auto options = std::make_shared<TokenOptions>();
  add_admin_options(verb, options->admin);
  add_local_database_options(verb, options->local);
  verb.footer(std::string(kWhere) + kServerExitCodes + "Examples:\n  weir token list");
  verb.action(session, [&session, options] { return list_tokens(*options, session.terminal); });
}

void add_token_revoke(CLI::App& parent, Session& session) {
  Command verb(parent, "revoke", "Revoke a token of the admin API");
  const auto options = std::make_shared<TokenOptions>();
  verb.word("id", options->id, "Its id, as weir token list shows it").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  add_local_database_options(verb, options->local);
  verb.footer(std::string(kWhere) + kServerExitCodes +
              "Examples:\n  weir token revoke tok_t3yt4592ej20 --reason 'left the team'");
  verb.action(session, [&session, options] { return revoke_token_verb(*options, session.terminal); });
}

}  // namespace weir::cli
