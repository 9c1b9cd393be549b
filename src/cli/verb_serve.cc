#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "server/config.h"
#include "server/serve.h"

namespace weir::cli {
namespace {

struct Options {
  std::string file;
  bool print_config = false;
  std::vector<std::string> texts;  // one for each field, in the order of the table
  std::vector<CLI::Option*> flags;
};

const char* variable(const std::string& name) { return std::getenv(name.c_str()); }

int serve(const Options& options, const Terminal& terminal) {
  if (options.print_config) {
    terminal.out << server::reference_config();
    return kExitAllowed;
  }
  server::ConfigSources sources;
  sources.file = options.file;
  sources.variable = variable;
  for (std::size_t i = 0; i < options.flags.size(); ++i) {
    if (options.flags[i]->count() == 0) continue;
    sources.flags.emplace_back(server::config_fields()[i].name, options.texts[i]);
  }
  const Result<server::Config> config = server::load_config(sources);
  if (!config.ok()) {
    terminal.err << "weir serve: " << config.failure().message << '\n';
    return kExitBadInput;
  }
  const Status served = server::serve(config.value(), {terminal.out, takes_colours(2)});
  if (served.ok()) return kExitAllowed;
  terminal.err << "weir serve: " << served.failure().message << '\n';
  return served.failure().code == Code::invalid_argument ? kExitBadInput : kExitFailed;
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

void add_field(CLI::App& verb, const server::ConfigField& field, std::string& text, std::vector<CLI::Option*>& flags) {
  std::string help(field.help);
  if (!field.default_text.empty()) help += " [" + std::string(field.default_text) + "]";
  CLI::Option* flag = verb.add_option(server::flag_of(field), text, help)->group("Settings");
  flag->option_text(value_name(field.kind))->take_last();
  if (field.kind == server::FieldKind::toggle) flag->expected(0, 1)->default_str("true");
  flags.push_back(flag);
}

}  // namespace

void add_serve(CLI::App& parent, Session& session) {
  CLI::App* verb = parent.add_subcommand("serve", "Run the server");
  const auto options = std::make_shared<Options>();
  verb->add_option("--config", options->file, "Configuration file (weir.yaml)")->envname("WEIR_CONFIG");
  verb->add_flag("--print-config", options->print_config, "Print a weir.yaml with every setting and its default");
  options->texts.resize(server::config_fields().size());
  for (std::size_t i = 0; i < options->texts.size(); ++i) {
    add_field(*verb, server::config_fields()[i], options->texts[i], options->flags);
  }
  verb->footer(
      "Every setting is also a variable (WEIR_LISTEN_HTTP) and a field of the file (listen: {http: …}). A flag wins\n"
      "over a variable, a variable over the file. SIGHUP reads the rules again, SIGTERM and SIGINT drain; a second\n"
      "one ends at once.\n"
      "\n"
      "Exit codes: 0 drained, 2 a setting or the rules do not hold up, 3 the server cannot start.\n\n"
      "Examples:\n"
      "  weir serve\n"
      "  weir serve --rules rules.yaml --listen-http 0.0.0.0:8080\n"
      "  weir serve --config /etc/weir/weir.yaml --log-format json\n"
      "  weir serve --rules rules.d --memory-snapshot /var/lib/weir/buckets --listen-http unix:/run/weir/http.sock");
  verb->callback(
      [&session, options] { session.action = [&session, options] { return serve(*options, session.terminal); }; });
}

}  // namespace weir::cli
