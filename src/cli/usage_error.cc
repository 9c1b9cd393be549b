#include "cli/usage_error.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "cli/help_text.h"
#include "cli/terminal.h"

namespace weir::cli {
namespace {

struct OtherName {
  std::string_view typed;
  std::string_view meant;
};

// What other programs call it. The first flag that the verb has counts.
constexpr OtherName kOtherNames[] = {
    {"port", "--listen-http"},
    {"port", "--server"},
    {"bind", "--listen-http"},
    {"host", "--listen-http"},
    {"host", "--server"},
    {"address", "--listen-http"},
    {"address", "--server"},
    {"addr", "--listen-http"},
    {"addr", "--server"},
    {"listen", "--listen-http"},
    {"http-port", "--listen-http"},
    {"grpc-port", "--listen-grpc"},
    {"admin-port", "--listen-admin"},
    {"metrics-port", "--listen-admin"},
    {"redis", "--store"},
    {"redis-url", "--store"},
    {"redis-host", "--store"},
    {"threads", "--loops"},
    {"workers", "--loops"},
    {"cert", "--tls-cert"},
    {"key", "--tls-key"},
    {"verbose", "--log-level"},
    {"debug", "--log-level"},
    {"quiet", "--log-level"},
    {"url", "--server"},
    {"endpoint", "--server"},
    {"token", "--token-file"},
    {"cacert", "--ca"},
    {"ca-file", "--ca"},
    {"ca-cert", "--ca"},
    {"cert-file", "--cert"},
    {"key-file", "--key"},
    {"qps", "--rate"},
    {"rps", "--rate"},
    {"time", "--duration"},
    {"seconds", "--duration"},
    {"concurrency", "--connections"},
    {"clients", "--connections"},
    {"threads", "--connections"},
    {"rules", "--local"},
    {"dry-run", "--peek"},
    {"config-file", "--config"},
    {"rules-file", "--rules"},
    {"weight", "--cost"},
    {"hits", "--cost"},
};

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// "weir rules validate": the verb that was parsed last, and its parents.
const CLI::App& parsed_verb(const CLI::App& program, std::string& path) {
  const CLI::App* app = &program;
  path = "weir";
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    path += " " + app->get_name();
  }
  return *app;
}

std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

const CLI::Option* flag_named(const CLI::App& app, std::string_view flag) {
  for (const CLI::Option* option : flags_of(app)) {
    if (option->get_name(false, true) == flag) return option;
  }
  return nullptr;
}

std::set<std::string> parts_of(std::string_view name) {
  std::set<std::string> parts;
  while (!name.empty()) {
    const std::size_t dash = std::min(name.find('-'), name.size());
    if (dash > 0) parts.emplace(name.substr(0, dash));
    name.remove_prefix(std::min(dash + 1, name.size()));
  }
  return parts;
}

// The shortest flag that has every part of the name: --snapshot means --memory-snapshot, --http-listen --listen-http.
const CLI::Option* flag_with_parts(const CLI::App& app, std::string_view name) {
  const std::set<std::string> wanted = parts_of(name);
  const CLI::Option* found = nullptr;
  for (const CLI::Option* option : flags_of(app)) {
    const std::set<std::string> parts = parts_of(option->get_name(false, true));
    if (wanted.empty() || !std::includes(parts.begin(), parts.end(), wanted.begin(), wanted.end())) continue;
    if (found == nullptr || option->get_name().size() < found->get_name().size()) found = option;
  }
  return found;
}

// `name` without its dashes.
const CLI::Option* meant_flag(const CLI::App& app, std::string_view name) {
  for (const OtherName& other : kOtherNames) {
    if (other.typed != name) continue;
    if (const CLI::Option* option = flag_named(app, other.meant)) return option;
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : flags_of(app)) {
    for (const std::string& each : option->get_lnames()) names.push_back(each);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const std::string_view near = base::nearest(name, known); !near.empty()) {
    return flag_named(app, "--" + std::string(near));
  }
  return flag_with_parts(app, name);
}

bool takes_attributes(const CLI::App& app) {
  return !app.get_options([](const CLI::Option* option) { return option->get_name(true, false) == "attributes"; })
              .empty();
}

std::string lists_all(const CLI::App& app, const std::string& path) {
  return path + (app.get_help_all_ptr() != nullptr ? " --help-all" : " --help") + " lists all options";
}

UsageError unknown_option(const CLI::App& app, const std::string& path, const std::string& word) {
  UsageError error{path, {}, {}};
  const std::string flag = word.substr(0, std::min(word.find('='), word.size()));
  error.message = "unknown option " + shown(flag);
  const CLI::Option* meant =
      meant_flag(app, std::string_view(flag).substr(std::min(flag.find_first_not_of('-'), flag.size())));
  if (meant != nullptr) {
    error.hint = "did you mean " + flag_with_value(*meant) + "? (" + lists_all(app, path) + ")";
  } else if (takes_attributes(app)) {
    error.hint = "attributes are written name=value, as in tenant=acme; " + lists_all(app, path);
  } else {
    error.hint = lists_all(app, path);
  }
  return error;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A value without its flag, as in `weir serve rules.yaml` and `weir serve 8080`.
UsageError unexpected_word(const CLI::App& app, const std::string& path, const std::string& word) {
  UsageError error{path, "unexpected argument " + shown(word), lists_all(app, path)};
  if (app.get_name() != "serve") return error;
  const std::string_view port = std::string_view(word).substr(word.rfind(':') + 1);
  std::string meant;
  if (word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with('/')) meant = "--rules " + shown(word);
  if (is_digits(word)) meant = "--listen-http 127.0.0.1:" + shown(word);
  if (meant.empty() && is_digits(port)) meant = "--listen-http " + shown(word);
  if (!meant.empty()) error.hint = "did you mean " + meant + "? (" + lists_all(app, path) + ")";
  return error;
}

std::string plain_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::string what = error.what();
  if (error.get_name() == "RequiredError" && !verbs_of(app).empty()) return "a verb is missing";
  if (error.get_name() == "ArgumentMismatch") return what.substr(0, what.find(':')) + ": a value is missing";
  // "--cost: Value x not in range 0 to 5"
  constexpr std::string_view kValue = ": Value ";
  constexpr std::string_view kRange = " not in range ";
  const std::size_t value = what.find(kValue);
  const std::size_t range = what.find(kRange);
  if (value == std::string::npos || range == std::string::npos || range < value) return what;
  const std::size_t begin = value + kValue.size();
  return what.substr(0, value) + ": is '" + shown(what.substr(begin, range - begin)) + "', expected a number from " +
         what.substr(range + kRange.size());
}

// The verb near to the word, or the one below another verb that has this name: `weir validate`.
std::string meant_verb(const std::vector<const CLI::App*>& verbs, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs) names.push_back(verb->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const std::string_view near = base::nearest(word, known); !near.empty()) return std::string(near);
  for (const CLI::App* verb : verbs) {
    for (const CLI::App* below : verbs_of(*verb)) {
      if (below->check_name(word)) return verb->get_name() + " " + word;
    }
  }
  return {};
}

}  // namespace

UsageError usage_error(const CLI::App& program, const CLI::ParseError& error) {
  std::string path;
  const CLI::App& app = parsed_verb(program, path);
  // Whatever else is wrong, a word that is not understood is the likely cause.
  const std::vector<std::string> left = app.remaining();
  for (const std::string& word : left) {
    if (word.starts_with('-')) return unknown_option(app, path, word);
  }
  if (!left.empty()) return unexpected_word(app, path, left.front());
  return {path, plain_message(app, error), path + " --help shows how it is used"};
}

bool find_unknown_verb(const CLI::App& program, const std::vector<std::string>& words, UsageError& found) {
  const CLI::App* parent = &program;
  std::string path = "weir";
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> verbs = verbs_of(*parent);
    if (word.starts_with('-') || verbs.empty()) return false;
    const auto named =
        std::find_if(verbs.begin(), verbs.end(), [&](const CLI::App* verb) { return verb->check_name(word); });
    if (named == verbs.end()) {
      const std::string meant = meant_verb(verbs, word);
      const std::string lists = "`" + path + " --help` lists the verbs";
      found = {path, "'" + shown(word) + "' is not a verb",
               meant.empty() ? lists : "did you mean `" + path + " " + meant + "`? (" + lists + ")"};
      return true;
    }
    parent = *named;
    path += " " + word;
  }
  return false;
}

}  // namespace weir::cli
