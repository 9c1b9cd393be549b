// `weir lease list` and `weir lease release`: what is held, and giving it back by force.
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>

#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/lease_client.h"
#include "cli/server_call.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct LeaseOptions {
  std::vector<std::string> words;
  std::string handle;
  bool json = false;
  ServerOptions server;
};

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

int list(const LeaseOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir lease list", options.json, failure, hint_for(failure));
  };
  const Result<AttributeArgs> attributes = AttributeArgs::parse(options.words);
  if (!attributes.ok()) return fail(attributes.failure());
  Result<ServerTarget> target = server_target(options.server, terminal);
  if (!target.ok()) return fail(target.failure());
  const Result<LeaseListView> answer = LeaseClient(std::move(target).value()).list(attributes.value());
  if (!answer.ok()) return fail(answer.failure());
  const LeaseListView& view = answer.value();
  if (options.json) {
    terminal.out << view.json << '\n';
    return kExitAllowed;
  }
  if (view.leases.empty()) {
    terminal.out << "no leases are held\n";
    return kExitAllowed;
  }
  std::size_t widest = 0;
  for (const ListedLeaseView& lease : view.leases) widest = std::max(widest, columns_of(shown(lease.rule)));
  const std::int64_t now = now_ms();
  for (const ListedLeaseView& lease : view.leases) {
    terminal.out << padded(shown(lease.rule), widest) << "  " << lease.units << (lease.units == 1 ? " slot " : " slots")
                 << "  expires in "
                 << padded(duration_for_people(std::max<std::int64_t>(0, lease.expires_at_ms - now)), 10) << "  "
                 << terminal.paint(Colour::faint, shown(lease.handle)) << '\n';
  }
  if (!view.complete) terminal.out << "there are more; the list ends after " << view.leases.size() << '\n';
  return kExitAllowed;
}

int release(const LeaseOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir lease release", options.json, failure, hint_for(failure));
  };
  Result<ServerTarget> target = server_target(options.server, terminal);
  if (!target.ok()) return fail(target.failure());
  const Status released = LeaseClient(std::move(target).value()).release(options.handle);
  if (!released.ok()) return fail(released.failure());
  if (options.json) {
    terminal.out << "{\"released\":true}\n";
  } else {
    terminal.out << terminal.paint(Colour::green, "released") << '\n';
  }
  return kExitAllowed;
}

}  // namespace

void add_lease_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "Show the leases of a subject");
  const auto options = std::make_shared<LeaseOptions>();
  verb.words("attributes", options->words, "The request's attributes, name=value each").required();
  verb.flag("--json", options->json, "Print the server's JSON answer, and errors as {\"error\":{…}}");
  add_server_options(verb, options->server);
  verb.footer(
      "Shows what is held under every concurrency rule that the attributes match, with the handles that\n"
      "`weir lease release` takes.\n" +
      std::string(kServerExitCodes) +
      "Examples:\n"
      "  weir lease list tenant=acme action=export");
  verb.action(session, [&session, options] { return list(*options, session.terminal); });
}

void add_lease_release(CLI::App& parent, Session& session) {
  Command verb(parent, "release", "Give a slot back");
  const auto options = std::make_shared<LeaseOptions>();
  verb.word("handle", options->handle, "The handle of the lease, as `weir lease list` shows it").required();
  verb.flag("--json", options->json, "Print JSON, and errors as {\"error\":{…}}");
  add_server_options(verb, options->server);
  verb.footer("The holder is not notified: its next renewal answers that the lease is gone.\n" +
              std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir lease release \"$handle\"");
  verb.action(session, [&session, options] { return release(*options, session.terminal); });
}

}  // namespace weir::cli
