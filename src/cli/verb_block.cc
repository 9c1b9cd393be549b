// `weir block add|list|remove`: requests that are refused.
#include <memory>
#include <ostream>

#include "cli/admin_client.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct BlockOptions {
  AdminOptions admin;
  std::vector<std::string> when;
  std::string id;
  std::string until;
  std::string reason;
  bool all = false;
};

int add_one_block(const BlockOptions& options, const Terminal& terminal) {
  const auto call = [&](AdminClient& client) -> Result<std::string> {
    if (options.when.empty() && !options.all) {
      return Failure{Code::invalid_argument,
                     "name the requests, such as ip=203.0.113.0/24; --all refuses every request"};
    }
    const Result<std::string> when = json_of_words(options.when);
    if (!when.ok()) return when.failure();
    JsonObject body;
    body.raw("when", when.value());
    if (options.all) body.raw("all", "true");
    body.text_if("until", options.until);
    body.text("reason", options.reason);
    return client.post("/blocks", body.take());
  };
  return run_admin(terminal, "weir block add", options.admin, call, [&](const std::string& answer) {
    const std::string until = member_text(answer, "until");
    terminal.out << terminal.paint(Colour::green, "blocked") << " " << member_text(answer, "id")
                 << (until.empty() ? " until it is removed" : " until " + until) << '\n';
  });
}

int list_blocks(const AdminOptions& options, const Terminal& terminal) {
  Result<AdminClient> client = AdminClient::connect(options, terminal);
  if (!client.ok()) return report_failure(terminal, "weir block list", options.json, client.failure());
  const Result<std::vector<std::string>> items = client.value().list("/blocks");
  if (!items.ok()) {
    return report_failure(terminal, "weir block list", options.json, items.failure(), admin_hint_for(items.failure()));
  }
  const auto member = [](const std::string& title, const std::string& name) -> Column {
    return {title, [name](const std::string& item) { return member_text(item, name); }};
  };
  show_items(terminal, options.json, items.value(),
             {member("ID", "id"), member("WHEN", "when"), member("UNTIL", "until"), member("HITS", "hits"),
              member("LAST USED", "last_used_at"), member("REASON", "reason")},
             "nothing is blocked");
  return kExitAllowed;
}

}  // namespace

void add_block_add(CLI::App& parent, Session& session) {
  Command verb(parent, "add", "Refuse requests before any rule is evaluated");
  const auto options = std::make_shared<BlockOptions>();
  verb.words("when", options->when, "Which requests: attribute=value each, all must match; addresses may be prefixes");
  verb.text("--until", options->until, "How long: a duration such as 2h, or a time; without it, until it is removed")
      .value("TIME");
  verb.text("--reason", options->reason, "Why, for the audit trail; callers never see it").value("TEXT").required();
  verb.flag("--all", options->all,
            "Allow a block that may match every request: without conditions, or with none that names someone");
  add_admin_options(verb, options->admin);
  verb.footer("Blocked requests get 403 with reason `blocked` and are charged nothing.\n" +
              std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir block add ip=203.0.113.0/24 --until 2h --reason scraping\n"
              "  weir block add tenant=acme action=export --reason 'runaway job'");
  verb.action(session, [&session, options] { return add_one_block(*options, session.terminal); });
}

void add_block_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "List the blocks, including those of the rules file");
  const auto options = std::make_shared<AdminOptions>();
  add_admin_options(verb, *options);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir block list");
  verb.action(session, [&session, options] { return list_blocks(*options, session.terminal); });
}

void add_block_remove(CLI::App& parent, Session& session) {
  Command verb(parent, "remove", "Stop refusing");
  const auto options = std::make_shared<BlockOptions>();
  verb.word("id", options->id, "Its id, as `weir block list` shows it").required();
  verb.text("--reason", options->reason, "Why, for the audit trail").value("TEXT").required();
  add_admin_options(verb, options->admin);
  verb.footer(std::string(kServerExitCodes) + "Examples:\n  weir block remove blk_3k9d7q --reason 'they have stopped'");
  verb.action(session, [&session, options] {
    const auto call = [&](AdminClient& client) {
      return client.remove("/blocks/" + percent_encoded(options->id), options->reason);
    };
    return run_admin(session.terminal, "weir block remove", options->admin, call, [&](const std::string&) {
      session.terminal.out << session.terminal.paint(Colour::green, "removed") << '\n';
    });
  });
}

}  // namespace weir::cli
