// `weir tenant set|list|show|remove`: the plan, the time zone and the settings of tenants.
#include <memory>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct TenantOptions {
  AdminOptions admin;
  std::string tenant;
  std::vector<std::string> settings;
  std::string plan;
  std::string from;
  std::string zone;
  std::string note;
  std::string reason;
};

std::string path_of(const TenantOptions& options) { return "/tenants/" + percent_encoded(options.tenant); }

// What is not given stays as it is.
Result<std::string> put_tenant(AdminClient& client, const TenantOptions& options) {
  const Result<std::string> settings = json_of_words(options.settings);
  if (!settings.ok()) return settings.failure();
  const Result<std::string> found = client.get(path_of(options));
  if (!found.ok() && found.failure().code != Code::not_found) return found.failure();
  const std::string before = found.ok() ? found.value() : "{}";
  const auto given_or_before = [&before](const std::string& given, std::string_view name) {
    return given.empty() ? member_text(before, name) : given;
  };
  JsonObject body;
  body.text_if("plan", given_or_before(options.plan, "plan"));
  body.text_if("plan_from_at", options.from);
  body.text_if("zone", given_or_before(options.zone, "zone"));
  body.text_if("note", given_or_before(options.note, "note"));
  const std::string kept = member_text(before, "settings");
  body.raw("settings", options.settings.empty() && !kept.empty() ? kept : settings.value());
  body.text_if("reason", options.reason);
  return client.put(path_of(options), body.take(), member_text(before, "etag"));
}

void show_tenant(const Terminal& terminal, const std::string& json) {
  for (const std::string_view name :
       {"tenant", "plan", "plan_from_at", "zone", "settings", "note", "created_at", "updated_at"}) {
    const std::string value = member_text(json, name);
    if (!value.empty()) terminal.out << padded(std::string(name), 14) << shown(value) << '\n';
  }
}

int list_tenants(const AdminOptions& options, const Terminal& terminal) {
  Result<AdminClient> client = AdminClient::connect(options, terminal);
  if (!client.ok()) return report_failure(terminal, "weir tenant list", options.json, client.failure());
  const Result<std::vector<std::string>> items = client.value().list("/tenants");
  if (!items.ok()) {
    return report_failure(terminal, "weir tenant list", options.json, items.failure(), admin_hint_for(items.failure()));
  }
  const auto member = [](const std::string& title, const std::string& name) -> Column {
    return {title, [name](const std::string& item) { return member_text(item, name); }};
  };
  show_items(terminal, options.json, items.value(),
             {member("TENANT", "tenant"), member("PLAN", "plan"), member("ZONE", "zone"),
              member("SETTINGS", "settings"), member("UPDATED", "updated_at")},
             "there are no records of tenants");
  return kExitAllowed;
}

}  // namespace

void add_tenant_set(CLI::App& parent, Session& session) {
  Command verb(parent, "set", "Make or change the record of a tenant");
  const auto options = std::make_shared<TenantOptions>();
  verb.word("tenant", options->tenant, "The tenant, as in the attribute `tenant`").required();
  verb.words("settings", options->settings, "Settings, name=value each; they replace all earlier settings");
  verb.text("--plan", options->plan, "The plan of requests that name no plan").value("PLAN");
  verb.text("--from", options->from, "When the plan begins: a time, or a duration from now; default: now")
      .value("WHEN");
  verb.text("--zone", options->zone, "The time zone, such as Europe/Berlin").value("ZONE");
  verb.text("--note", options->note, "A note for operators").value("TEXT");
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT");
  add_admin_options(verb, options->admin);
  verb.footer("Fields that are not given stay unchanged.\n" + std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir tenant set acme --plan pro --zone Europe/Berlin\n"
              "  weir tenant set acme support=gold");
  verb.action(session, [&session, options] {
    return run_admin(
        session.terminal, "weir tenant set", options->admin,
        [&](AdminClient& client) { return put_tenant(client, *options); },
        [&](const std::string& answer) { show_tenant(session.terminal, answer); });
  });
}

void add_tenant_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "Show the records of tenants");
  const auto options = std::make_shared<AdminOptions>();
  add_admin_options(verb, *options);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir tenant list");
  verb.action(session, [&session, options] { return list_tenants(*options, session.terminal); });
}

void add_tenant_show(CLI::App& parent, Session& session) {
  Command verb(parent, "show", "Show the record of a tenant");
  const auto options = std::make_shared<TenantOptions>();
  verb.word("tenant", options->tenant, "The tenant").required();
  add_admin_options(verb, options->admin);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir tenant show acme");
  verb.action(session, [&session, options] {
    return run_admin(
        session.terminal, "weir tenant show", options->admin,
        [&](AdminClient& client) { return client.get(path_of(*options)); },
        [&](const std::string& answer) { show_tenant(session.terminal, answer); });
  });
}

void add_tenant_remove(CLI::App& parent, Session& session) {
  Command verb(parent, "remove", "Remove the record of a tenant");
  const auto options = std::make_shared<TenantOptions>();
  verb.word("tenant", options->tenant, "The tenant").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer("Its keys stay: `weir key list --tenant` shows them, `weir key revoke` revokes them.\n" +
              std::string(kServerExitCodes) + "Examples:\n  weir tenant remove acme --reason 'contract ended'");
  verb.action(session, [&session, options] {
    return run_admin(
        session.terminal, "weir tenant remove", options->admin,
        [&](AdminClient& client) { return client.remove(path_of(*options), options->reason); },
        [&](const std::string&) { session.terminal.out << session.terminal.paint(Colour::green, "removed") << '\n'; });
  });
}

}  // namespace weir::cli
