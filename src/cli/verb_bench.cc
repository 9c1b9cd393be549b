#include <charconv>
#include <memory>
#include <ostream>

#include "cli/attribute_args.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/load.h"
#include "cli/server_call.h"
#include "cli/verbs.h"
#include "weir/limiter.h"

namespace weir::cli {
namespace {

constexpr std::int64_t kMaxConnections = 1'000;
constexpr std::int64_t kMaxKeys = 1'000'000;
constexpr double kMaxRate = 10'000'000;

struct BenchOptions {
  std::vector<std::string> words;
  ServerOptions server;
  std::string local;
  std::int64_t connections = 16;
  std::string duration = "5s";
  double rate = 0;
  std::int64_t keys = 1;
  std::string mix = "even";
  bool json = false;
};

int fail(const BenchOptions& options, const Failure& failure, const Terminal& terminal) {
  return report_failure(terminal, "weir bench", options.json, failure, hint_for(failure));
}

// "10", "10s", "1.5m", "1h", "500ms"
Result<Duration> parse_run_time(const std::string& text) {
  constexpr double kLongest = 86'400e6;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double micros = unit.empty() || unit == "s" ? 1e6
                        : unit == "ms"              ? 1e3
                        : unit == "m"               ? 60e6
                        : unit == "h"               ? 3600e6
                                                    : 0;
  number *= micros;
  if (error != std::errc() || !(number >= 10e3) || number > kLongest) {
    return Failure{Code::invalid_argument,
                   "--duration: is '" + shown(text) + "', expected 10ms to 24h, as in 500ms, 10s or 2m"};
  }
  return Duration(static_cast<std::int64_t>(number));
}

int bench_server(const BenchOptions& options, const AttributeArgs& args, Duration duration, const Terminal& terminal) {
  Result<ServerTarget> target = server_target(options.server, terminal);
  if (!target.ok()) return fail(options, target.failure(), terminal);
  LoadPlan plan{.target = std::move(target).value(),
                .bodies = {},
                .mix = SubjectMix(options.mix, static_cast<std::size_t>(options.keys)),
                .connections = static_cast<std::size_t>(options.connections),
                .duration = duration,
                .rate = options.rate};
  for (std::int64_t i = 0; i < options.keys; ++i) plan.bodies.push_back(args.numbered(i).check_body(1, false));
  LoadResult result;
  LoadTime time;
  {
    ProgressLine line(terminal, duration);
    result = run_load(plan, time, [&](Duration elapsed, std::uint64_t done) { line.show(elapsed, done); });
  }
  if (result.answered() == 0) {
    const std::string how_many =
        result.failed == 1 ? "the only call failed: " : "all " + std::to_string(result.failed) + " calls failed: ";
    // Not wrong usage, even if the server calls the request wrong: nothing was measured.
    const Failure& first = result.first_failure;
    const Failure failure{first.code == Code::invalid_argument ? Code::failed_precondition : first.code,
                          how_many + first.message};
    return fail(options, failure, terminal);
  }
  report_load(plan, result, options.json, terminal);
  if (result.failed == 0) return kExitAllowed;
  if (!options.json) {
    terminal.err << "weir bench: " << result.failed << " of " << result.sent()
                 << " calls failed; the first: " << result.first_failure.message << '\n';
  }
  return kExitFailed;
}

int bench_local(const BenchOptions& options, const AttributeArgs& args, Duration duration, const Terminal& terminal) {
  constexpr std::uint64_t kBatch = 1024;  // checks between two readings of the clock
  Result<std::unique_ptr<Limiter>> limiter = Limiter::open(options.local);
  if (!limiter.ok()) return fail(options, {Code::invalid_argument, limiter.failure().message}, terminal);
  std::vector<AttributeArgs> owners;
  std::vector<std::vector<Attribute>> requests;
  for (std::int64_t i = 0; i < options.keys; ++i) owners.push_back(args.numbered(i));
  requests.reserve(owners.size());
  for (const AttributeArgs& owner : owners) requests.push_back(owner.attributes());
  // Picked beforehand, so that only the decision is measured.
  const SubjectMix mix(options.mix, requests.size());
  std::vector<std::uint32_t> order(std::max<std::size_t>(requests.size(), std::size_t{1} << 16));
  if (options.mix == "even") order.resize(requests.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(mix.pick(i));
  SteadyClock clock;
  ProgressLine line(terminal, duration);
  LocalResult result;
  std::size_t next = 0;
  const TimePoint start = clock.now();
  TimePoint shown_at = start;
  TimePoint now = start;
  for (; now < start + duration; now = clock.now()) {
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      result.allowed += limiter.value()->check(Request(requests[order[next]])).allowed ? 1 : 0;
      next = next + 1 == order.size() ? 0 : next + 1;
    }
    result.total += kBatch;
    if (now - shown_at < std::chrono::milliseconds(250)) continue;
    shown_at = now;
    line.show(now - start, result.total);
  }
  result.took = now - start;
  report_local(result, options.json, terminal);
  return kExitAllowed;
}

int bench(const BenchOptions& options, const Terminal& terminal) {
  const Result<AttributeArgs> args = AttributeArgs::parse(options.words);
  if (!args.ok()) return fail(options, args.failure(), terminal);
  const Result<Duration> duration = parse_run_time(options.duration);
  if (!duration.ok()) return fail(options, duration.failure(), terminal);
  return options.local.empty() ? bench_server(options, args.value(), duration.value(), terminal)
                               : bench_local(options, args.value(), duration.value(), terminal);
}

}  // namespace

void add_bench(CLI::App& parent, Session& session) {
  Command verb(parent, "bench", "Load test of a server, or of decisions in this process");
  const auto options = std::make_shared<BenchOptions>();
  verb.words("attributes", options->words, "The requests' attributes, name=value each");
  verb.integer("--connections", options->connections, 1, kMaxConnections,
               "Connections, each with one request in flight");
  verb.text("--duration", options->duration, "How long to run: 500ms, 10s, 2m; a bare number is in seconds")
      .value("TIME");
  const Option rate = verb.number("--rate", options->rate, 0, kMaxRate,
                                  "Requests a second over all connections, and latencies from the time each is due; 0 "
                                  "sends as fast as the server answers");
  verb.integer("--keys", options->keys, 1, kMaxKeys, "Number of subjects: 0 to N-1 replace {} in the values");
  verb.choice("--mix", options->mix, {"even", "random", "hot"},
              "Order of the subjects: even (one after the other), random, or hot (a few busy ones, Zipf)");
  verb.flag("--json", options->json, "Print one object, and errors as {\"error\":{…}}");
  const Option server = add_server_options(verb, options->server);
  verb.text("--local", options->local, "Decide in this process with this rules file or folder, without a server")
      .value("PATH")
      .excludes(server)
      .excludes(rate);
  verb.footer(
      "Exit codes: 0 every call was answered, 2 bad input, 3 calls failed. If all fail, no figures are printed.\n\n"
      "Examples:\n"
      "  weir bench tenant=acme api_key=k1\n"
      "  weir bench tenant=acme api_key=k{} --keys 10000 --mix hot --connections 64 --duration 10s\n"
      "  weir bench tenant=acme api_key=k{} --keys 10000 --rate 5000 --json\n"
      "  weir bench --local rules.yaml tenant=acme api_key=k{} --keys 1000000");
  verb.action(session, [&session, options] { return bench(*options, session.terminal); });
}

}  // namespace weir::cli
