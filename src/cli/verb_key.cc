// `weir key create|list|revoke`: API keys bound to a tenant.
#include <memory>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct KeyOptions {
  AdminOptions admin;
  std::string id;
  std::string name;
  std::vector<std::string> attributes;
  std::string tenant;
  std::string plan;
  std::string expires;
  std::string reason;
};

// The key alone on standard output, so that it can be put into a file; what it is, for people, beside it.
int create_key(const KeyOptions& options, const Terminal& terminal) {
  const auto call = [&](AdminClient& client) -> Result<std::string> {
    const Result<std::string> attributes = json_of_words(options.attributes);
    if (!attributes.ok()) return attributes.failure();
    JsonObject body;
    body.text("name", options.name);
    body.text("tenant", options.tenant);
    body.text_if("plan", options.plan);
    body.raw("attributes", attributes.value());
    body.text_if("expires_at", options.expires);
    return client.post("/keys", body.take());
  };
  return run_admin(terminal, "weir key create", options.admin, call, [&](const std::string& answer) {
    terminal.err << "key " << member_text(answer, "id") << " of tenant " << shown(options.tenant)
                 << "; it is shown only this once\n";
    terminal.out << member_text(answer, "key") << '\n';
  });
}

int list_keys(const KeyOptions& options, const Terminal& terminal) {
  Result<AdminClient> client = AdminClient::connect(options.admin, terminal);
  if (!client.ok()) return report_failure(terminal, "weir key list", options.admin.json, client.failure());
  const std::string path = options.tenant.empty() ? "/keys" : "/keys?tenant=" + percent_encoded(options.tenant);
  const Result<std::vector<std::string>> items = client.value().list(path);
  if (!items.ok()) {
    return report_failure(terminal, "weir key list", options.admin.json, items.failure(),
                          admin_hint_for(items.failure()));
  }
  const auto member = [](const std::string& title, const std::string& name) -> Column {
    return {title, [name](const std::string& item) { return member_text(item, name); }};
  };
  show_items(terminal, options.admin.json, items.value(),
             {member("ID", "id"), member("NAME", "name"), member("KEY", "prefix"), member("TENANT", "tenant"),
              member("PLAN", "plan"), member("EXPIRES", "expires_at"), member("REVOKED", "revoked_at"),
              member("LAST USED", "last_used_at")},
             "there are no keys");
  return kExitAllowed;
}

}  // namespace

void add_key_create(CLI::App& parent, Session& session) {
  Command verb(parent, "create", "Make an API key and print it, once");
  const auto options = std::make_shared<KeyOptions>();
  verb.word("name", options->name, "What it is for").required();
  verb.words("attributes", options->attributes, "Attributes that requests with the key have, name=value each");
  verb.text("--tenant", options->tenant, "Tenant that the key belongs to").value("TENANT").required();
  verb.text("--plan", options->plan, "Plan of requests with the key, instead of the tenant's").value("PLAN");
  verb.text("--expires", options->expires, "How long it is valid: a duration such as 90d, or a time").value("TIME");
  add_admin_options(verb, options->admin);
  verb.footer("Only a hash of the key is stored.\n" + std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir key create ci --tenant acme --expires 90d > key\n"
              "  weir key create mobile app=ios --tenant acme --plan pro");
  verb.action(session, [&session, options] { return create_key(*options, session.terminal); });
}

void add_key_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "Show the API keys, never the keys themselves");
  const auto options = std::make_shared<KeyOptions>();
  verb.text("--tenant", options->tenant, "Only keys of this tenant").value("TENANT");
  add_admin_options(verb, options->admin);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir key list --tenant acme");
  verb.action(session, [&session, options] { return list_keys(*options, session.terminal); });
}

void add_key_revoke(CLI::App& parent, Session& session) {
  Command verb(parent, "revoke", "Refuse an API key from now on");
  const auto options = std::make_shared<KeyOptions>();
  verb.word("id", options->id, "Its id, as `weir key list` shows it").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir key revoke key_3k9d7q --reason leaked");
  verb.action(session, [&session, options] {
    return run_admin(
        session.terminal, "weir key revoke", options->admin,
        [&](AdminClient& client) { return client.remove("/keys/" + percent_encoded(options->id), options->reason); },
        [&](const std::string&) { session.terminal.out << session.terminal.paint(Colour::green, "revoked") << '\n'; });
  });
}

}  // namespace weir::cli
