// Closed-loop load: each connection sends its next request when the answer to the last has come. Time is read from
// SteadyClock, so latencies are in whole microseconds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <iomanip>
#include <memory>
#include <mutex>
#include <ostream>
#include <thread>

#include "cli/attribute_args.h"
#include "cli/exit_code.h"
#include "cli/http_client.h"
#include "cli/latency.h"
#include "cli/verbs.h"
#include "weir/limiter.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxConnections = 1'000;
constexpr std::int64_t kMaxKeys = 1'000'000;

struct Options {
  std::vector<std::string> words;
  std::string server = "http://127.0.0.1:8080";
  std::string local;
  std::size_t connections = 16;
  double duration_s = 5;
  std::int64_t keys = 1;
  bool json = false;
};

struct Tally {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t failed = 0;
  Latencies latencies;
  std::string first_failure;

  void merge(const Tally& other) {
    allowed += other.allowed;
    denied += other.denied;
    failed += other.failed;
    latencies.merge(other.latencies);
    if (first_failure.empty()) first_failure = other.first_failure;
  }
};

std::int64_t micros_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e6); }

void count(const Result<HttpAnswer>& answer, Tally& tally) {
  const int status = answer.ok() ? answer.value().status : 0;
  if (status == 200) {
    ++tally.allowed;
  } else if (status == 429) {
    ++tally.denied;
  } else {
    ++tally.failed;
    if (!tally.first_failure.empty()) return;
    tally.first_failure = answer.ok() ? "the server answered with status " + std::to_string(status) + ": " +
                                            shown(answer.value().body.substr(0, 300))
                                      : answer.failure().message;
  }
}

// One connection until `end`; gives up when the server is gone.
Tally drive(const ServerAddress& server, const std::vector<std::string>& bodies, std::size_t first, SteadyClock& clock,
            TimePoint end) {
  constexpr std::uint64_t kMostFailures = 10;
  HttpClient client(server, std::chrono::seconds(5));
  Tally tally;
  for (std::size_t i = first; tally.failed < kMostFailures; ++i) {
    const TimePoint start = clock.now();
    if (start >= end) break;
    count(client.post("/v1/check", bodies[i % bodies.size()]), tally);
    tally.latencies.add((clock.now() - start).count());
  }
  return tally;
}

void report_server(const Options& options, const Tally& tally, double seconds, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  const double rate = static_cast<double>(tally.latencies.total()) / seconds;
  const auto at = [&](std::uint64_t per_mille) { return tally.latencies.percentile(per_mille); };
  out << std::fixed << std::setprecision(0);
  if (options.json) {
    out << "{\"requests\":" << tally.latencies.total() << ",\"per_second\":" << rate << ",\"allowed\":" << tally.allowed
        << ",\"denied\":" << tally.denied << ",\"failed\":" << tally.failed << ",\"latency_us\":{\"p50\":" << at(500)
        << ",\"p90\":" << at(900) << ",\"p99\":" << at(990) << ",\"p999\":" << at(999) << "}}\n";
    return;
  }
  out << terminal.paint(Colour::bold, "rate") << "     " << rate << " checks/s with " << options.connections
      << " connections\n"
      << terminal.paint(Colour::bold, "latency") << "  p50 " << at(500) << " us, p90 " << at(900) << " us, p99 "
      << at(990) << " us, p99.9 " << at(999) << " us\n"
      << terminal.paint(Colour::bold, "answers") << "  " << tally.allowed << " allowed, " << tally.denied << " denied, "
      << tally.failed << " failed\n";
}

int bench_server(const Options& options, const AttributeArgs& args, const Terminal& terminal) {
  const Result<ServerAddress> server = ServerAddress::parse(options.server);
  if (!server.ok()) {
    terminal.err << "weir bench: " << server.failure().message << '\n';
    return kExitBadInput;
  }
  std::vector<std::string> bodies;
  for (std::int64_t i = 0; i < options.keys; ++i) bodies.push_back(args.numbered(i).check_body(1, false));
  SteadyClock clock;
  const TimePoint start = clock.now();
  const TimePoint end = start + Duration(micros_of(options.duration_s));
  std::mutex mutex;
  Tally all;  // guarded by mutex
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < options.connections; ++i) {
    threads.emplace_back([&, i] {
      const std::size_t first = i * bodies.size() / options.connections;  // spread over the keys
      const Tally tally = drive(server.value(), bodies, first, clock, end);
      const std::lock_guard lock(mutex);
      all.merge(tally);
    });
  }
  for (std::thread& thread : threads) thread.join();
  report_server(options, all, static_cast<double>((clock.now() - start).count()) / 1e6, terminal);
  if (all.failed == 0) return kExitAllowed;
  terminal.err << "weir bench: " << all.first_failure << '\n';
  return kExitFailed;
}

int bench_local(const Options& options, const AttributeArgs& args, const Terminal& terminal) {
  constexpr int kBetweenLooks = 1024;  // checks between two looks at the clock
  Result<std::unique_ptr<Limiter>> limiter = Limiter::open(options.local);
  if (!limiter.ok()) {
    terminal.err << limiter.failure().message << '\n';
    return kExitBadInput;
  }
  std::vector<AttributeArgs> owners;
  std::vector<std::vector<Attribute>> requests;
  for (std::int64_t i = 0; i < options.keys; ++i) owners.push_back(args.numbered(i));
  requests.reserve(owners.size());
  for (const AttributeArgs& owner : owners) requests.push_back(owner.attributes());
  SteadyClock clock;
  const TimePoint start = clock.now();
  const TimePoint end = start + Duration(micros_of(options.duration_s));
  std::uint64_t allowed = 0;
  std::uint64_t total = 0;
  std::size_t next = 0;
  TimePoint now = start;
  for (; now < end; now = clock.now()) {
    for (int i = 0; i < kBetweenLooks; ++i) {
      allowed += limiter.value()->check(Request(requests[next])).allowed ? 1 : 0;
      next = next + 1 == requests.size() ? 0 : next + 1;
    }
    total += kBetweenLooks;
  }
  const double nanos = static_cast<double>((now - start).count()) * 1e3 / static_cast<double>(total);
  std::ostream& out = terminal.out;
  out << std::fixed << std::setprecision(1);
  if (options.json) {
    out << "{\"checks\":" << total << ",\"ns_per_check\":" << nanos << ",\"allowed\":" << allowed
        << ",\"denied\":" << total - allowed << "}\n";
  } else {
    out << terminal.paint(Colour::bold, "in process") << "  " << nanos << " ns per check on one thread\n"
        << terminal.paint(Colour::bold, "answers") << "     " << allowed << " allowed, " << total - allowed
        << " denied\n";
  }
  return kExitAllowed;
}

int bench(const Options& options, const Terminal& terminal) {
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) {
    terminal.err << "weir bench: " << args.failure().message << '\n';
    return kExitBadInput;
  }
  return options.local.empty() ? bench_server(options, args.value(), terminal)
                               : bench_local(options, args.value(), terminal);
}

}  // namespace

void add_bench(CLI::App& parent, Session& session) {
  CLI::App* verb = parent.add_subcommand("bench", "Measure a server, or the decision itself in this process");
  const auto options = std::make_shared<Options>();
  verb->add_option("attributes", options->words, "The requests' attributes, name=value each");
  CLI::Option* server = verb->add_option("--server", options->server, "The server: http://host:port or unix:/path")
                            ->envname("WEIR_SERVER")
                            ->capture_default_str();
  verb->add_option("--local", options->local, "Decide in this process by this rules file or folder")->excludes(server);
  verb->add_option("--connections", options->connections, "Connections, each with one request under way")
      ->check(CLI::Range(std::size_t{1}, kMaxConnections))
      ->capture_default_str();
  verb->add_option("--duration", options->duration_s, "Seconds to run")
      ->check(CLI::Range(0.01, 86'400.0))
      ->capture_default_str();
  verb->add_option("--keys", options->keys, "Put 0 to N-1, in turn, in the place of {} in the values")
      ->check(CLI::Range(std::int64_t{1}, kMaxKeys))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "For machines: one object");
  verb->footer(
      "Examples:\n"
      "  weir bench tenant=acme api_key=k1\n"
      "  weir bench tenant=acme api_key=k{} --keys 10000 --connections 64 --duration 10\n"
      "  weir bench --local rules.yaml tenant=acme api_key=k{} --keys 1000000");
  verb->callback(
      [&session, options] { session.action = [&session, options] { return bench(*options, session.terminal); }; });
}

}  // namespace weir::cli
