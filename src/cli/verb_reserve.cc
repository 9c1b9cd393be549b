// `weir reserve take|commit|release|extend|list`: reservations of a server, from scripts.
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>

#include "base/json_text.h"
#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/decision_view.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/http_client.h"
#include "cli/server_call.h"
#include "cli/verbs.h"
#include "weir/allowance.h"

namespace weir::cli {
namespace {

using simdjson::dom::element;

struct ReserveOptions {
  std::vector<std::string> words;
  std::string handle;
  std::string id;
  std::int64_t amount = -1;  // -1: not given
  std::int64_t actual = 0;
  std::int64_t add = 0;
  double ttl_s = 0;  // 0: the server's
  bool partial = false;
  bool dry_run = false;
  bool json = false;
  ServerOptions server;
};

constexpr const char* kReserveExitCodes =
    "Exit codes: 0 done, 1 denied, 2 bad input, 3 the server cannot be reached or refused.\n\n";

// Handles go into the path of a request.
bool is_reservation_handle(std::string_view handle) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  return !handle.empty() && handle != "." && handle != ".." &&
         handle.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::int64_t number_in(const element& object, std::string_view name) {
  std::int64_t number = 0;
  if (object[name].get_int64().get(number)) return 0;
  return number;
}

std::string ttl_member(double ttl_s) {
  return ttl_s == 0 ? "" : ",\"ttl_ms\":" + std::to_string(static_cast<std::int64_t>(ttl_s * 1'000));
}

// What a 404, 409 or 410 says, which is not in a decision.
Failure reservation_failure(const HttpAnswer& answer, std::string_view call) {
  Failure failure = refusal_of(answer, call);
  simdjson::dom::parser parser;
  element root;
  std::string_view detail;
  if (answer.status != 404 && answer.status != 409 && answer.status != 410) return failure;
  if (parser.parse(answer.body).get(root) || root["detail"].get_string().get(detail)) return failure;
  return {answer.status == 404 ? Code::not_found : Code::failed_precondition, std::string(detail)};
}

// For people: one line about the reservation, and its handle on a line of its own for scripts.
void show_reservation(const std::string& json, const Terminal& terminal) {
  simdjson::dom::parser parser;
  element root;
  std::string_view state;
  if (parser.parse(json).get(root) || root["state"].get_string().get(state)) return;
  terminal.out << terminal.paint(Colour::green, std::string(state)) << "  granted " << number_in(root, "granted");
  if (state == "committed") terminal.out << "  actual " << number_in(root, "actual");
  if (state != "open") {
    terminal.out << "  returned " << number_in(root, "returned") << "  debt " << number_in(root, "debt");
    if (number_in(root, "uncharged") > 0) terminal.out << "  uncharged " << number_in(root, "uncharged");
  }
  terminal.out << '\n';
  std::string_view handle;
  if (!root["reservation"].get_string().get(handle)) terminal.out << handle << '\n';
}

class ReserveCall {
 public:
  ReserveCall(const char* name, const ReserveOptions& options, const Terminal& terminal)
      : name_(name), options_(options), terminal_(terminal) {}

  int fail(const Failure& failure) const {
    return report_failure(terminal_, name_, options_.json, failure, hint_for(failure));
  }

  // The answer's body on success; else the exit code is in `code`.
  std::optional<std::string> request(std::string_view method, const std::string& path, const std::string& body,
                                     int& code) const {
    Result<ServerTarget> target = server_target(options_.server, terminal_);
    if (!target.ok()) {
      code = fail(target.failure());
      return std::nullopt;
    }
    HttpClient client(std::move(target).value());
    const Result<HttpAnswer> answer = method == "POST" ? client.post(path, body) : client.request(method, path);
    if (!answer.ok()) {
      code = fail(answer.failure());
      return std::nullopt;
    }
    if (answer.value().status == 200 || answer.value().status == 201) return answer.value().body;
    const Result<DecisionView> decision = DecisionView::read(answer.value().body);
    if (!decision.ok()) {
      code = fail(reservation_failure(answer.value(), std::string(method) + " /v1/reservations"));
      return std::nullopt;
    }
    code = kExitDenied;
    if (options_.json) {
      terminal_.out << answer.value().body << '\n';
    } else {
      decision.value().show(terminal_);
    }
    return std::nullopt;
  }

  int post(const std::string& path, const std::string& body) const {
    int code = kExitAllowed;
    const std::optional<std::string> answer = request("POST", path, body, code);
    if (!answer) return code;
    if (options_.json) {
      terminal_.out << *answer << '\n';
    } else {
      show_reservation(*answer, terminal_);
    }
    return kExitAllowed;
  }

  int settle(const char* what, const std::string& body) const {
    if (!is_reservation_handle(options_.handle)) {
      return fail({Code::invalid_argument, "expected a handle as `weir reserve take` shows it"});
    }
    return post("/v1/reservations/" + options_.handle + "/" + what, body);
  }

 private:
  const char* name_;
  const ReserveOptions& options_;
  const Terminal& terminal_;
};

int take_reservation(const ReserveOptions& options, const Terminal& terminal) {
  const ReserveCall call("weir reserve take", options, terminal);
  const Result<AttributeArgs> attributes = AttributeArgs::parse(options.words);
  if (!attributes.ok()) return call.fail(attributes.failure());
  std::string body = "{" + attributes.value().members();
  body += options.amount < 0 ? ",\"estimate\":\"auto\"" : ",\"amount\":" + std::to_string(options.amount);
  body += ttl_member(options.ttl_s);
  if (options.partial) body += ",\"partial\":true";
  if (options.dry_run) body += ",\"dry_run\":true";
  if (!options.id.empty()) {
    body += ",\"id\":";
    base::append_json_string(body, options.id);
  }
  return call.post("/v1/reservations", body + "}");
}

int extend_reservation(const ReserveOptions& options, const Terminal& terminal) {
  const ReserveCall call("weir reserve extend", options, terminal);
  if (options.ttl_s == 0 && options.add == 0) {
    return call.fail({Code::invalid_argument, "expected --ttl, --add or both"});
  }
  std::string body = "{\"add\":" + std::to_string(options.add) + ttl_member(options.ttl_s);
  if (options.partial) body += ",\"partial\":true";
  return call.settle("extend", body + "}");
}

int list_reservations(const ReserveOptions& options, const Terminal& terminal) {
  const ReserveCall call("weir reserve list", options, terminal);
  const Result<AttributeArgs> attributes = AttributeArgs::parse(options.words);
  if (!attributes.ok()) return call.fail(attributes.failure());
  int code = kExitAllowed;
  const auto answer = call.request("GET", "/v1/reservations?" + attributes.value().query(), "", code);
  if (!answer) return code;
  if (options.json) {
    terminal.out << *answer << '\n';
    return kExitAllowed;
  }
  simdjson::dom::parser parser;
  element root;
  simdjson::dom::array list;
  if (parser.parse(*answer).get(root) || root["reservations"].get_array().get(list)) {
    return call.fail({Code::internal, "the answer is not from a Weir server"});
  }
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  std::size_t shown_lines = 0;
  for (const element each : list) {
    std::string_view rule;
    std::string_view id;
    if (each["rule"].get_string().get(rule) || each["id"].get_string().get(id)) continue;
    const std::int64_t left_ms = std::max<std::int64_t>(0, number_in(each, "expires_at_ms") - now);
    terminal.out << shown(rule) << "  " << number_in(each, "units") << " units  expires in "
                 << duration_for_people(left_ms) << "  " << terminal.paint(Colour::faint, std::string(id)) << '\n';
    ++shown_lines;
  }
  if (shown_lines == 0) terminal.out << "no reservations are open\n";
  return kExitAllowed;
}

std::shared_ptr<ReserveOptions> common_options(Command& verb) {
  const auto options = std::make_shared<ReserveOptions>();
  verb.flag("--json", options->json, "Print the server's JSON answer, and errors as {\"error\":{…}}");
  add_server_options(verb, options->server);
  return options;
}

}  // namespace

void add_reserve_take(CLI::App& parent, Session& session) {
  Command verb(parent, "take", "Take cost before the work");
  const auto options = common_options(verb);
  verb.words("attributes", options->words, "The request's attributes, name=value each").required();
  verb.integer("--amount", options->amount, 0, kMaxUnits,
               "Units to reserve; default: the estimate that the rules have learned")
      .value("N");
  verb.number("--ttl", options->ttl_s, 0.01, 86'400.0, "Seconds until it expires; default 60").value("SECONDS");
  verb.text("--id", options->id, "An id that you choose: the same id again gives the same reservation").value("ID");
  verb.flag("--partial", options->partial, "Take what fits, at least 1");
  verb.flag("--dry-run", options->dry_run, "Only show what would be granted");
  verb.footer(std::string("Prints the reservation, and its handle on the second line.\n") + kReserveExitCodes +
              "Examples:\n"
              "  weir reserve take user=u1 action=completion --amount 2000\n"
              "  handle=$(weir reserve take user=u1 action=completion --amount 2000 | tail -n 1)");
  verb.action(session, [&session, options] { return take_reservation(*options, session.terminal); });
}

void add_reserve_commit(CLI::App& parent, Session& session) {
  Command verb(parent, "commit", "Settle a reservation with what the work has cost");
  const auto options = common_options(verb);
  verb.word("handle", options->handle, "The handle, as `weir reserve take` prints it").required();
  verb.integer("--actual", options->actual, 0, kMaxUnits, "Units that the work has cost").value("N").required();
  verb.footer(std::string("Committing again shows the first answer.\n") + kReserveExitCodes +
              "Examples:\n"
              "  weir reserve commit \"$handle\" --actual 1234");
  verb.action(session, [&session, options] {
    return ReserveCall("weir reserve commit", *options, session.terminal)
        .settle("commit", "{\"actual\":" + std::to_string(options->actual) + "}");
  });
}

void add_reserve_release(CLI::App& parent, Session& session) {
  Command verb(parent, "release", "Release a reservation: give everything back");
  const auto options = common_options(verb);
  verb.word("handle", options->handle, "The handle, as `weir reserve take` prints it").required();
  verb.footer(std::string(kReserveExitCodes) +
              "Examples:\n"
              "  weir reserve release \"$handle\"");
  verb.action(session, [&session, options] {
    return ReserveCall("weir reserve release", *options, session.terminal).settle("release", "");
  });
}

void add_reserve_extend(CLI::App& parent, Session& session) {
  Command verb(parent, "extend", "Extend a reservation: hold more, or for longer");
  const auto options = common_options(verb);
  verb.word("handle", options->handle, "The handle, as `weir reserve take` prints it").required();
  verb.integer("--add", options->add, 0, kMaxUnits, "Units to hold in addition").value("N");
  verb.number("--ttl", options->ttl_s, 0.01, 86'400.0, "Seconds from now until it expires").value("SECONDS");
  verb.flag("--partial", options->partial, "Add what fits, at least 1");
  verb.footer(std::string("If the units do not fit, nothing changes.\n") + kReserveExitCodes +
              "Examples:\n"
              "  weir reserve extend \"$handle\" --add 500 --ttl 60");
  verb.action(session, [&session, options] { return extend_reservation(*options, session.terminal); });
}

void add_reserve_list(CLI::App& parent, Session& session) {
  Command verb(parent, "list", "Show the open reservations of a subject");
  const auto options = common_options(verb);
  verb.words("attributes", options->words, "The request's attributes, name=value each").required();
  verb.footer(std::string(kServerExitCodes) +
              "Examples:\n"
              "  weir reserve list user=u1 action=completion");
  verb.action(session, [&session, options] { return list_reservations(*options, session.terminal); });
}

}  // namespace weir::cli
