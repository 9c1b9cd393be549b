// `weir override set|list|remove`: other numbers for some requests, until a time.
#include <memory>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "weir/allowance.h"

namespace weir::cli {
namespace {

struct OverrideOptions {
  AdminOptions admin;
  std::vector<std::string> when;
  std::string id;
  std::string rules;
  std::string window;
  std::string mode;
  std::string until;
  std::string reason;
  std::int64_t limit = -1;
  std::int64_t burst = -1;
  bool unlimited = false;
  bool emergency = false;
};

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', begin)) {
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Result<std::string> override_body(const OverrideOptions& options) {
  const Result<std::string> when = json_of_words(options.when);
  if (!when.ok()) return when.failure();
  JsonObject body;
  body.raw("rules", json_list(split_commas(options.rules)));
  body.raw("when", when.value());
  if (options.limit >= 0) body.raw("limit", std::to_string(options.limit));
  body.text_if("window", options.window);
  if (options.burst >= 0) body.raw("burst", std::to_string(options.burst));
  if (options.unlimited) body.raw("unlimited", "true");
  body.text_if("mode", options.mode);
  if (options.emergency) body.raw("emergency", "true");
  body.text("until", options.until);
  body.text("reason", options.reason);
  return body.take();
}

int set_override(const OverrideOptions& options, const Terminal& terminal) {
  const auto call = [&](AdminClient& client) -> Result<std::string> {
    const Result<std::string> body = override_body(options);
    if (!body.ok()) return body.failure();
    return client.post("/overrides", body.value());
  };
  return run_admin(terminal, "weir override set", options.admin, call, [&](const std::string& answer) {
    terminal.out << terminal.paint(Colour::green, "set") << " " << member_text(answer, "id") << " until "
                 << member_text(answer, "until") << '\n';
    if (const std::string misfits = member_text(answer, "misfits"); !misfits.empty()) {
      terminal.out << terminal.paint(Colour::yellow, "not for") << " " << misfits << '\n';
    }
  });
}

// "limit 1000, window 60000ms"
std::string change_text(const std::string& item) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const std::string_view name : {"limit", "window", "burst"}) {
    const std::string value = member_text(item, name);
    if (!value.empty()) add(std::string(name) + " " + value);
  }
  if (member_text(item, "unlimited") == "true") add("unlimited");
  if (const std::string mode = member_text(item, "mode"); !mode.empty()) add("mode " + mode);
  if (member_text(item, "emergency") == "true") add("emergency");
  return text;
}

Column member_column(const std::string& title, const std::string& name) {
  return {title, [name](const std::string& item) { return member_text(item, name); }};
}

int list_overrides(const AdminOptions& options, const Terminal& terminal) {
  Result<AdminClient> client = AdminClient::connect(options, terminal);
  if (!client.ok()) return report_failure(terminal, "weir override list", options.json, client.failure());
  const Result<std::vector<std::string>> items = client.value().list("/overrides");
  if (!items.ok()) {
    return report_failure(terminal, "weir override list", options.json, items.failure(),
                          admin_hint_for(items.failure()));
  }
  show_items(terminal, options.json, items.value(),
             {member_column("ID", "id"),
              member_column("RULES", "rules"),
              member_column("WHEN", "when"),
              {"CHANGE", change_text},
              member_column("UNTIL", "until"),
              member_column("LAST USED", "last_used_at"),
              member_column("REASON", "reason")},
             "no overrides are set");
  return kExitAllowed;
}

}  // namespace

void add_override_set(CLI::App& parent, Session& session) {
  Command verb(parent, "set", "Set other limits for some requests");
  const auto options = std::make_shared<OverrideOptions>();
  verb.words("when", options->when, "Which requests: attribute=value each, all must match; none: every request");
  verb.text("--rules", options->rules, "Ids of rules, separated by commas, or * for every rule")
      .value("IDS")
      .required();
  verb.integer("--limit", options->limit, 0, kMaxUnits, "Units per window");
  verb.text("--window", options->window, "A duration such as 60s").value("DURATION");
  verb.integer("--burst", options->burst, 1, kMaxUnits, "Capacity of a token bucket");
  verb.flag("--unlimited", options->unlimited, "Nothing is counted");
  verb.choice("--mode", options->mode, {"enforce", "shadow", "off"}, "Mode instead of the rule's");
  verb.flag("--emergency", options->emergency, "Takes precedence over all other overrides");
  verb.text("--until", options->until, "How long: a duration such as 2h, or a time").value("TIME").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer(
      "Precedence: emergency, then overrides set here (the newest first), then those of the rules file, then plans.\n" +
      std::string(kServerExitCodes) +
      "Examples:\n"
      "  weir override set tenant=acme --rules search-per-key --limit 1000 --until 2h --reason launch\n"
      "  weir override set tenant=acme --rules '*' --unlimited --emergency --until 30m --reason 'incident 42'");
  verb.action(session, [&session, options] { return set_override(*options, session.terminal); });
}

void add_override_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "List the overrides, including those of the rules file");
  const auto options = std::make_shared<AdminOptions>();
  add_admin_options(verb, *options);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir override list");
  verb.action(session, [&session, options] { return list_overrides(*options, session.terminal); });
}

void add_override_remove(CLI::App& parent, Session& session) {
  Command verb(parent, "remove", "Remove an override before its time");
  const auto options = std::make_shared<OverrideOptions>();
  verb.word("id", options->id, "Its id, as `weir override list` shows it").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir override remove ovr_3k9d7q --reason 'launch is over'");
  verb.action(session, [&session, options] {
    const auto call = [&](AdminClient& client) {
      return client.remove("/overrides/" + percent_encoded(options->id), options->reason);
    };
    return run_admin(session.terminal, "weir override remove", options->admin, call, [&](const std::string&) {
      session.terminal.out << session.terminal.paint(Colour::green, "removed") << '\n';
    });
  });
}

}  // namespace weir::cli
