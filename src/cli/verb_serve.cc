#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "server/config.h"
#include "server/serve.h"

namespace weir::cli {
namespace {

struct ServeOptions {
  std::string file;
  bool print_config = false;
  std::vector<std::string> texts;  // one for each field, in the order of the table
  std::vector<Option> flags;
};

const char* variable(const std::string& name) { return std::getenv(name.c_str()); }

std::vector<std::string> variable_names() {
  std::vector<std::string> names;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry(*each);
    names.emplace_back(entry.substr(0, entry.find('=')));
  }
  return names;
}

int serve(const ServeOptions& options, const Terminal& terminal) {
  if (options.print_config) {
    terminal.out << server::reference_config();
    return kExitAllowed;
  }
  server::ConfigSources sources;
  const char* file = variable("WEIR_CONFIG");
  sources.file = options.file.empty() && file != nullptr ? file : options.file;
  sources.variable = variable;
  sources.variable_names = variable_names();
  for (std::size_t i = 0; i < options.flags.size(); ++i) {
    if (options.flags[i].given()) sources.flags.emplace_back(server::config_fields()[i].name, options.texts[i]);
  }
  const Result<server::Config> config = server::load_config(sources);
  if (!config.ok()) {
    return report_failure(terminal, "weir serve", false, {Code::invalid_argument, config.failure().message});
  }
  const Status served = server::serve(config.value(), {terminal.out, takes_colours(2)});
  return served.ok() ? kExitAllowed : report_failure(terminal, "weir serve", false, served.failure());
}

// What --help shows behind the flag.
const char* value_name(server::FieldKind kind) {
  using server::FieldKind;
  switch (kind) {
    case FieldKind::address:
      return "ADDRESS";
    case FieldKind::path:
      return "PATH";
    case FieldKind::size:
      return "SIZE";
    case FieldKind::duration:
      return "TIME";
    case FieldKind::count:
      return "N";
    case FieldKind::share:
      return "SHARE";
    case FieldKind::toggle:
      return "[true|false]";
    case FieldKind::list:
      return "LIST";
    case FieldKind::pairs:
      return "NAME=TEXT,…";
    case FieldKind::text:
      return "TEXT";
    case FieldKind::store:
    case FieldKind::choice:
      break;
  }
  return "NAME";
}

struct Group {
  std::string_view prefix;  // of a field's name
  std::string_view title;
};

// The first match counts. A section that is not listed is a group of its own.
constexpr Group kGroups[] = {
    {"listen.", "Listeners"},    {"admin.", "Listeners"},   {"resp.", "Listeners"}, {"tls.", "TLS"},
    {"redis.time", "Time"},      {"redis.", "Redis"},       {"store", "Store"},     {"memory.", "Store"},
    {"hash_key", "Store"},       {"data_dir", "Store"},     {"database", "Store"},  {"prefilter", "Store"},
    {"rules.", "Rules"},         {"grpc.envoy", "Rules"},   {"on_", "Rules"},       {"identity.", "Identity"},
    {"http.headers", "Headers"}, {"http.reset", "Headers"}, {"http.", "Limits"},    {"connection_memory", "Limits"},
    {"loops", "Limits"},         {"drain_", "Limits"},      {"log.", "Logging"},
};

std::string group_of(const server::ConfigField& field) {
  for (const Group& group : kGroups) {
    if (field.name.starts_with(group.prefix)) return std::string(group.title);
  }
  std::string title(field.name.substr(0, std::min(field.name.find('.'), field.name.size())));
  std::replace(title.begin(), title.end(), '_', ' ');
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  return title;
}

void add_field(Command& verb, const server::ConfigField& field, std::string& text, std::vector<Option>& flags) {
  std::string help(field.help);
  if (!field.default_text.empty()) help += " [" + std::string(field.default_text) + "]";
  Option flag = verb.text(server::flag_of(field), text, help);
  flag.value(value_name(field.kind)).group(group_of(field)).takes_last();
  if (field.kind == server::FieldKind::toggle) flag.value_optional("true");
  flags.push_back(flag);
}

}  // namespace

void add_serve(CLI::App& parent, Session& session) {
  Command verb(parent, "serve", "Run the server");
  const auto options = std::make_shared<ServeOptions>();
  verb.text("--config", options->file, "Configuration file, weir.yaml (variable WEIR_CONFIG)").value("PATH");
  verb.flag("--print-config", options->print_config, "Print a weir.yaml with every setting and its default");
  options->texts.resize(server::config_fields().size());
  for (std::size_t i = 0; i < options->texts.size(); ++i) {
    add_field(verb, server::config_fields()[i], options->texts[i], options->flags);
  }
  verb.brief_help({"--config", "--rules", "--store", "--listen-http", "--listen-grpc", "--listen-admin", "--tls-cert",
                   "--tls-key", "--log-level", "--log-format", "--print-config", "--help-all"});
  verb.footer(
      "Every setting is also a variable (WEIR_LISTEN_HTTP) and a field of "
      "the file (listen: {http: …}). A flag overrides\na variable, and a "
      "variable overrides the file. SIGHUP reads the rules again, SIGTERM "
      "and SIGINT drain; a second\none stops at once.\n\nExit codes: 0 "
      "drained, 2 invalid settings or rules, 3 the server cannot "
      "start.\n\nExamples:\n  weir serve\n  weir serve --rules rules.yaml "
      "--listen-http 0.0.0.0:8080\n  weir serve --config "
      "/etc/weir/weir.yaml --log-format json\n  weir serve --rules rules.d "
      "--memory-snapshot /var/lib/weir/buckets --listen-http "
      "unix:/run/weir/http.sock");
  verb.action(session, [&session, options] { return serve(*options, session.terminal); });
}

}  // namespace weir::cli
