#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/simulate_view.h"
#include "cli/verbs.h"
#include "rules/read/rules_format.h"
#include "server/config.h"
#include "server/config_value.h"
#include "server/identity_settings.h"
#include "simulate/replay.h"
#include "simulate/report_html.h"
#include "simulate/report_json.h"

namespace weir::cli {
namespace {

constexpr std::int64_t kLeastMemory = std::int64_t{1} << 20;
constexpr std::int64_t kMostMemory = std::int64_t{1} << 40;
constexpr std::int64_t kMaxTop = 1'000;
constexpr std::uint64_t kLinesBetweenLooks = 16'384;
constexpr Duration kBetweenShows = std::chrono::milliseconds(200);

struct SimulateOptions {
  std::string rules;
  std::vector<std::string> logs;
  std::string against;
  std::string format = "auto";
  std::string config;
  std::vector<std::string> maps;
  std::string timezone = "UTC";
  std::string target;
  std::string memory = "512MiB";
  std::int64_t top = 20;
  std::string html;
  bool json = false;
};

Failure wrong(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// "1%", "0.5%", "0.01"
Result<double> parse_share(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const bool is_percent = unit == "%";
  const double share = is_percent ? number / 100 : number;
  if (error != std::errc{} || (!is_percent && !unit.empty()) || !(share >= 0) || share >= 1) {
    return wrong("--target: is '" + shown(text) + "', expected a share of requests such as 1% or 0.01");
  }
  return share;
}

// What the server's configuration says about identity; the defaults without one.
Result<identity::IdentityOptions> identity_of(const SimulateOptions& options) {
  if (options.config.empty()) return identity::IdentityOptions{};
  server::ConfigSources sources;
  sources.file = options.config;
  const Result<server::Config> config = server::load_config(sources);
  if (!config.ok()) return config.failure();
  return server::identity_options(config.value(), keys::KeyRing{});
}

Result<simulate::NamedRules> read_set(const std::string& path) {
  Result<rules::ForeignRules> read = rules::read_rules(path, rules::RulesFormat::weir);
  if (!read.ok()) return Failure{Code::invalid_argument, read.failure().message};
  return simulate::NamedRules{path, std::move(read).value().rules};
}

Result<simulate::ReplayOptions> replay_options(const SimulateOptions& options) {
  simulate::ReplayOptions made;
  for (const std::string& path : {options.rules, options.against}) {
    if (path.empty()) continue;
    Result<simulate::NamedRules> set = read_set(path);
    if (!set.ok()) return set.failure();
    made.sets.push_back(std::move(set).value());
  }
  Result<identity::IdentityOptions> identity = identity_of(options);
  if (!identity.ok()) return wrong(identity.failure().message);
  made.identity = std::move(identity).value();
  for (const std::string& text : options.maps) {
    Result<simulate::FieldMapping> mapping = simulate::parse_mapping(text);
    if (!mapping.ok()) return wrong("--map: " + mapping.failure().message);
    made.mappings.push_back(std::move(mapping).value());
  }
  const Result<std::int64_t> memory = server::parse_size(options.memory, kLeastMemory, kMostMemory);
  if (!memory.ok()) return wrong("--memory: " + memory.failure().message);
  made.max_bytes = static_cast<std::size_t>(memory.value());
  made.top = static_cast<std::size_t>(options.top);
  if (!options.target.empty()) {
    const Result<double> target = parse_share(options.target);
    if (!target.ok()) return target.failure();
    made.target = target.value();
  }
  return made;
}

Result<simulate::LogOptions> log_options(const SimulateOptions& options,
                                         const std::vector<simulate::FieldMapping>& mappings) {
  simulate::LogOptions made;
  if (options.format != "auto") made.format = simulate::log_format_from_name(options.format);
  Result<simulate::Zone> zone = base::TimeZone::load(options.timezone);
  if (!zone.ok()) return wrong("--timezone: " + zone.failure().message);
  made.zone = std::move(zone).value();
  made.mappings = mappings;
  return made;
}

Result<simulate::Report> replay(const SimulateOptions& options, const Terminal& terminal) {
  Result<simulate::ReplayOptions> made = replay_options(options);
  if (!made.ok()) return made.failure();
  const Result<simulate::LogOptions> reading = log_options(options, made.value().mappings);
  if (!reading.ok()) return reading.failure();
  Result<std::unique_ptr<simulate::Replay>> replay = simulate::Replay::create(std::move(made).value());
  if (!replay.ok()) return replay.failure();
  Result<simulate::MergedLogs> logs = simulate::MergedLogs::open(options.logs, reading.value());
  if (!logs.ok()) return logs.failure();

  SteadyClock clock;
  SimulateProgress progress(terminal);
  const TimePoint start = clock.now();
  TimePoint shown_at = start;
  for (std::uint64_t i = 1; logs.value().next(); ++i) {
    replay.value()->add(logs.value().record(), logs.value().current());
    if (i % kLinesBetweenLooks != 0) continue;
    const TimePoint now = clock.now();
    if (now - shown_at < kBetweenShows) continue;
    shown_at = now;
    progress.show(now - start, logs.value().lines(), logs.value().position(), logs.value().size());
  }
  if (Status read = logs.value().status(); !read.ok()) return read.failure();
  if (!options.target.empty()) progress.say("looking for limits");
  return replay.value()->finish(&logs.value());
}

int simulate_rules(const SimulateOptions& options, const Terminal& terminal) {
  const Result<simulate::Report> report = replay(options, terminal);
  if (!report.ok()) return report_failure(terminal, "weir rules simulate", options.json, report.failure());
  if (!options.html.empty()) {
    std::ofstream page(options.html, std::ios::binary | std::ios::trunc);
    page << simulate::report_html(report.value());
    page.close();
    if (!page) {
      return report_failure(terminal, "weir rules simulate", options.json,
                            {Code::permission_denied, options.html + ": cannot be written"});
    }
  }
  if (options.json) {
    terminal.out << simulate::report_json(report.value()) << '\n';
    return kExitAllowed;
  }
  show_report(report.value(), terminal);
  if (!options.html.empty()) terminal.out << "\nreport written to " << shown(options.html) << '\n';
  return kExitAllowed;
}

}  // namespace

void add_rules_simulate(CLI::App& parent, Session& session) {
  Command verb(parent, "simulate", "Replay access logs against one or two rule sets");
  const auto options = std::make_shared<SimulateOptions>();
  verb.word("rules", options->rules, "The rules file, or a folder of them").required();
  verb.words("logs", options->logs, "Access logs, also compressed with gzip or zstd; - for standard input").required();
  verb.text("--against", options->against, "A second rule set, to see what would change").value("PATH");
  std::vector<std::string> formats = simulate::log_format_names();
  formats.insert(formats.begin(), "auto");
  verb.choice("--format", options->format, formats, "The format of the logs; auto looks at their first lines");
  verb.text("--config", options->config, "The server's configuration: its `identity` makes attributes of requests")
      .value("PATH");
  verb.texts("--map", options->maps,
             "A field of the log becomes an attribute, or time, ip, method, path, host, cost; may be repeated")
      .value("FIELD=ATTRIBUTE");
  verb.text("--timezone", options->timezone, "The time zone of times that are logged without one").value("ZONE");
  verb.text("--target", options->target, "Suggest limits that deny at most this share of a rule's requests, such as 1%")
      .value("SHARE");
  verb.text("--memory", options->memory, "The most memory that the buckets of a rule set may take").value("SIZE");
  verb.integer("--top", options->top, 1, kMaxTop, "How many subjects --json and --html list");
  verb.text("--html", options->html, "Also write a report with charts to this file").value("FILE");
  verb.flag("--json", options->json, "For machines: one object");
  verb.footer(
      "Decisions are made by the same code as in the server, at the times in the "
      "log.\nExit codes: 0 simulated, 2 bad input, 3 a log cannot be "
      "read.\n\nExamples:\n  weir rules simulate rules.yaml access.log\n  weir rules "
      "simulate rules.yaml access.log access.log.*.gz --config weir.yaml --target 1%\n  "
      "weir rules simulate rules.yaml access.log --against new.yaml --html "
      "report.html\n  zcat logs/*.gz | weir rules simulate rules.yaml - --map "
      "user=tenant --json");
  verb.action(session, [&session, options] { return simulate_rules(*options, session.terminal); });
}

}  // namespace weir::cli
