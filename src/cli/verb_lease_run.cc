// `weir lease run -- command`: runs a command while holding a lease, and renews it meanwhile.
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>

#include "base/ascii.h"
#include "cli/attribute_args.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/held_command.h"
#include "cli/lease_client.h"
#include "cli/server_call.h"
#include "cli/verbs.h"
#include "weir/allowance.h"

namespace weir::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Apart from those of most commands, because the command's own code is passed on (sysexits.h).
enum RunExit : int { kServerFailed = 69, kNoSlot = 75, kLeaseLost = 76, kCannotRun = 126, kNotFound = 127 };

struct LeaseRunOptions {
  std::vector<std::string> words;
  std::int64_t cost = 1;
  double ttl_s = 0;
  double wait_s = 0;
  double grace_s = 10;
  std::string id;
  bool keep_running = false;
  ServerOptions server;
};

// Made before the call: if its answer is lost, asking again with it gives the same lease and not another.
std::string random_id() {
  unsigned char bytes[16] = {};
  static_cast<void>(!::getrandom(bytes, sizeof bytes, 0));
  std::string text = "weir-lease-run-";
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

class LeaseRun {
 public:
  LeaseRun(const LeaseRunOptions& options, const Terminal& terminal, ServerTarget target)
      : options_(options), terminal_(terminal), client_(std::move(target)) {}

  int run(const AttributeArgs& attributes, const std::vector<std::string>& command) {
    if (const std::optional<int> failed = acquire(attributes)) return *failed;
    std::vector<std::pair<std::string, std::string>> variables = {{"WEIR_LEASE", lease_.handle}};
    if (lease_.fencing_token) variables.emplace_back("WEIR_FENCING_TOKEN", std::to_string(*lease_.fencing_token));
    if (const Status started = held_.start(command, variables); !started.ok()) {
      release();
      report_failure(terminal_, kName, false, started.failure());
      return started.failure().code == Code::not_found ? kNotFound : kCannotRun;
    }
    return attend();
  }

 private:
  static constexpr std::string_view kName = "weir lease run";

  // Nothing: lease_ is held.
  std::optional<int> acquire(const AttributeArgs& attributes) {
    const LeaseClient::Wanted wanted{attributes, options_.cost, static_cast<std::int64_t>(options_.ttl_s * 1e3),
                                     options_.id.empty() ? random_id() : options_.id};
    const auto end = steady_clock::now() + milliseconds(static_cast<std::int64_t>(options_.wait_s * 1e3));
    for (;;) {
      const Result<LeaseAnswerView> answer = client_.acquire(wanted);
      if (!answer.ok()) {
        const int code = report_failure(terminal_, kName, false, answer.failure(), hint_for(answer.failure()));
        return code == kExitBadInput ? code : kServerFailed;
      }
      if (answer.value().decision.allowed) {
        hold(answer.value().lease);
        if (!lease_.fencing_token) {
          terminal_.err << kName << ": warning: "
                        << (answer.value().decision.degraded ? "the store of the server did not answer"
                                                             : "no concurrency rule applies to these attributes")
                        << ": the command runs without a slot\n";
        }
        return std::nullopt;
      }
      if (answer.value().decision.reason == "cost_too_large") {
        terminal_.err << kName << ": " << options_.cost << " slots can never be free at once ("
                      << shown(answer.value().decision.rule) << "); ask for fewer\n";
        return kNoSlot;
      }
      const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
      const std::int64_t wait_ms = std::clamp<std::int64_t>(answer.value().decision.retry_after_ms, 50, 1'000);
      if (left.count() <= 0) {
        terminal_.err << kName << ": no slot is free (" << shown(answer.value().decision.rule) << ")"
                      << (options_.wait_s > 0 ? "\n" : "; --wait SECONDS waits for one\n");
        return kNoSlot;
      }
      if (const std::optional<int> signal = held_.wait_for_signal(milliseconds(std::min(wait_ms, left.count())))) {
        return 128 + *signal;
      }
    }
  }

  void hold(const LeaseView& lease) {
    lease_ = lease;
    held_until_ = steady_clock::now() + milliseconds(lease.ttl_ms);
  }

  // Until the command has ended: renews at every third of the TTL, so that two attempts may fail.
  int attend() {
    bool lost = false;
    auto next = steady_clock::now() + milliseconds(lease_.ttl_ms / 3);
    for (;;) {
      const auto left = std::chrono::duration_cast<Duration>(next - steady_clock::now());
      if (const std::optional<int> code = held_.wait(std::max(left, Duration::zero()))) {
        if (!lost) release();
        return lost && !options_.keep_running ? kLeaseLost : *code;
      }
      if (steady_clock::now() < next) continue;
      if (lost) {
        held_.send(SIGKILL);
        next += std::chrono::hours(1);
        continue;
      }
      const Result<LeaseView> renewed = client_.renew(lease_.handle, lease_.ttl_ms);
      if (renewed.ok()) {
        hold(renewed.value());
        next = steady_clock::now() + milliseconds(lease_.ttl_ms / 3);
        continue;
      }
      const bool gone = renewed.failure().code == Code::failed_precondition;
      if (!gone && steady_clock::now() < held_until_) {
        next = steady_clock::now() + std::max(milliseconds(lease_.ttl_ms / 10), milliseconds(20));
        continue;
      }
      lost = true;
      next = steady_clock::now() + (options_.keep_running ? std::chrono::hours(24 * 365) : grace());
      lose(renewed.failure());
    }
  }

  std::chrono::milliseconds grace() const { return milliseconds(static_cast<std::int64_t>(options_.grace_s * 1e3)); }

  void lose(const Failure& why) {
    terminal_.err << kName << ": the lease is lost: " << shown(why.message)
                  << (options_.keep_running ? "; the command continues without it\n" : "; stopping the command\n");
    if (!options_.keep_running) held_.send(SIGTERM);
  }

  void release() {
    const Status released = client_.release(lease_.handle);
    if (!released.ok()) {
      terminal_.err << kName << ": cannot release the lease, which expires in " << duration_for_people(lease_.ttl_ms)
                    << " at the latest: " << shown(released.failure().message) << '\n';
    }
  }

  const LeaseRunOptions& options_;
  const Terminal& terminal_;
  LeaseClient client_;
  HeldCommand held_;
  LeaseView lease_;
  steady_clock::time_point held_until_;
};

int run(const LeaseRunOptions& options, const std::vector<std::string>& command, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) { return report_failure(terminal, "weir lease run", false, failure); };
  if (command.empty()) {
    return fail(
        {Code::invalid_argument, "expected a command behind --, as in: weir lease run tenant=acme -- make export"});
  }
  const Result<AttributeArgs> attributes = AttributeArgs::parse(options.words);
  if (!attributes.ok()) return fail(attributes.failure());
  Result<ServerTarget> target = server_target(options.server, terminal);
  if (!target.ok()) return fail(target.failure());
  return LeaseRun(options, terminal, std::move(target).value()).run(attributes.value(), command);
}

}  // namespace

void add_lease_run(CLI::App& parent, Session& session) {
  Command verb(parent, "run", "Run a command while holding a lease");
  const auto options = std::make_shared<LeaseRunOptions>();
  verb.words("attributes", options->words, "The request's attributes, name=value each; then -- and the command");
  verb.integer("--cost", options->cost, 1, kMaxUnits, "Slots to take");
  verb.number("--ttl", options->ttl_s, 0.01, 86'400.0, "Seconds that the lease lives without renewal [the rule's]")
      .value("SECONDS");
  verb.number("--wait", options->wait_s, 0.0, 86'400.0, "Seconds to wait for a free slot").value("SECONDS");
  verb.text("--id", options->id, "An id for the lease: runs with the same id share one slot").value("TEXT");
  verb.number("--grace", options->grace_s, 0.0, 86'400.0,
              "Seconds between SIGTERM and SIGKILL for the command if the lease is lost")
      .value("SECONDS");
  verb.flag("--keep-running", options->keep_running, "Let the command continue if the lease is lost");
  add_server_options(verb, options->server);
  verb.footer(
      "The lease is renewed while the command runs and released when it ends. The command "
      "finds\nWEIR_LEASE and WEIR_FENCING_TOKEN in its environment. Signals are passed on to it. "
      "If the lease is\nlost (the server lost it, or could not be reached for its TTL), the "
      "command is stopped.\n\nExit codes: that of the command; 128 plus the signal that ended it; "
      "2 bad input, 69 the server cannot be\nreached or refused, 75 no slot is free, 76 the lease "
      "was lost, 126 and 127 the command cannot run.\n\nExamples:\n  weir lease run tenant=acme "
      "action=export -- ./export.sh\n  weir lease run action=reindex --ttl 30 --wait 600 -- make "
      "reindex");
  verb.action(session, [&session, options] { return run(*options, session.command, session.terminal); });
}

}  // namespace weir::cli
