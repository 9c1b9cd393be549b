#include "cli/usage_error.h"

#include <algorithm>
#include <set>

#include "base/nearest.h"
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
const OptionView* flag_with_parts(const VerbView& verb, std::string_view name) {
  const std::set<std::string> wanted = parts_of(name);
  const OptionView* found = nullptr;
  for (const OptionView& option : verb.options) {
    const std::set<std::string> parts = parts_of(option.name);
    if (wanted.empty() || !option.is_flag()) continue;
    if (!std::includes(parts.begin(), parts.end(), wanted.begin(), wanted.end())) continue;
    if (found == nullptr || option.name.size() < found->name.size()) found = &option;
  }
  return found;
}

// `name` without its dashes. Null if nothing is near.
const OptionView* meant_flag(const VerbView& verb, std::string_view name) {
  for (const OtherName& other : kOtherNames) {
    if (other.typed != name) continue;
    if (const OptionView* option = verb.option(other.meant)) return option;
  }
  std::vector<std::string_view> known;
  for (const OptionView& option : verb.options) {
    if (option.is_flag()) known.push_back(std::string_view(option.name).substr(2));
  }
  const std::string_view near = base::nearest(name, known);
  return near.empty() ? flag_with_parts(verb, name) : verb.option("--" + std::string(near));
}

std::string lists_all(const VerbView& verb, const std::string& path) {
  return path + (verb.option("--help-all") != nullptr ? " --help-all" : " --help") + " lists all options";
}

UsageError unknown_option(const VerbView& verb, const std::string& path, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  const std::string_view name = std::string_view(flag).substr(std::min(flag.find_first_not_of('-'), flag.size()));
  UsageError error{path, "unknown option " + shown(flag), lists_all(verb, path)};
  if (const OptionView* meant = meant_flag(verb, name)) {
    error.hint = "did you mean " + meant->label + "? (" + error.hint + ")";
  } else if (verb.option("attributes") != nullptr) {
    error.hint = "attributes are written name=value, as in tenant=acme; " + error.hint;
  }
  return error;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A value without its flag, as in `weir serve rules.yaml` and `weir serve 8080`.
UsageError unexpected_word(const VerbView& verb, const std::string& path, const std::string& word) {
  UsageError error{path, "unexpected argument " + shown(word), lists_all(verb, path)};
  if (verb.name != "serve") return error;
  const std::string_view port = std::string_view(word).substr(word.rfind(':') + 1);
  std::string meant;
  if (word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with('/')) meant = "--rules " + shown(word);
  if (is_digits(word)) meant = "--listen-http 127.0.0.1:" + shown(word);
  if (meant.empty() && is_digits(port)) meant = "--listen-http " + shown(word);
  if (!meant.empty()) error.hint = "did you mean " + meant + "? (" + lists_all(verb, path) + ")";
  return error;
}

std::string plain_message(const VerbView& verb, const Parsed& parsed) {
  const std::string& what = parsed.text;
  if (parsed.error == "RequiredError" && !verb.verbs.empty()) return "a verb is missing";
  if (parsed.error == "ArgumentMismatch") return what.substr(0, what.find(':')) + ": a value is missing";
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
std::string meant_verb(const std::vector<VerbView>& verbs, const std::string& word) {
  std::vector<std::string_view> known;
  for (const VerbView& verb : verbs) known.push_back(verb.name);
  if (const std::string_view near = base::nearest(word, known); !near.empty()) return std::string(near);
  for (const VerbView& verb : verbs) {
    if (verb.verb(word) != nullptr) return verb.name + " " + word;
  }
  return {};
}

}  // namespace

UsageError usage_error(const VerbView& program, const Parsed& parsed) {
  const VerbView* verb = &program;
  std::string path = program.name;
  for (const std::string& name : parsed.verbs) {
    verb = verb->verb(name);
    path += " " + name;
  }
  // Whatever else is wrong, a word that is not understood is the likely cause.
  for (const std::string& word : parsed.left) {
    if (word.starts_with('-')) return unknown_option(*verb, path, word);
  }
  if (!parsed.left.empty()) return unexpected_word(*verb, path, parsed.left.front());
  return {path, plain_message(*verb, parsed), path + " --help shows how it is used"};
}

bool find_unknown_verb(const VerbView& program, const std::vector<std::string>& words, UsageError& found) {
  const VerbView* parent = &program;
  std::string path = program.name;
  for (const std::string& word : words) {
    if (word.starts_with('-') || parent->verbs.empty()) return false;
    const VerbView* verb = parent->verb(word);
    if (verb == nullptr) {
      const std::string meant = meant_verb(parent->verbs, word);
      const std::string lists = "`" + path + " --help` lists the verbs";
      found = {path, "'" + shown(word) + "' is not a verb",
               meant.empty() ? lists : "did you mean `" + path + " " + meant + "`? (" + lists + ")"};
      return true;
    }
    parent = verb;
    path += " " + word;
  }
  return false;
}

}  // namespace weir::cli
