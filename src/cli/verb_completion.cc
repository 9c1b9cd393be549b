// Completion scripts, generated from the options that the program parses, so that they are always complete.
#include <memory>
#include <ostream>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

struct Word {
  std::string text;
  std::string help;
};

// One verb, or the program itself: what may follow it.
struct Place {
  std::vector<std::string> path;  // {} for the program, {"rules", "validate"}
  std::vector<Word> verbs;
  std::vector<Word> options;

  std::string joined() const {
    std::string out;
    for (const std::string& word : path) out += "/" + word;
    return out;
  }
  std::string words() const {
    std::string out;
    for (const std::vector<Word>* list : {&verbs, &options}) {
      for (const Word& word : *list) out += (out.empty() ? "" : " ") + word.text;
    }
    return out;
  }
};

void walk(const VerbView& verb, const std::vector<std::string>& path, std::vector<Place>& places) {
  Place place;
  place.path = path;
  for (const VerbView& below : verb.verbs) place.verbs.push_back({below.name, below.help});
  for (const OptionView& option : verb.options) {
    if (option.is_flag()) place.options.push_back({option.name, option.help});
  }
  places.push_back(std::move(place));
  for (const VerbView& below : verb.verbs) {
    std::vector<std::string> deeper = path;
    deeper.push_back(below.name);
    walk(below, deeper, places);
  }
}

// The part that bash and zsh share: follows the verbs typed so far and sets `next` to what may come next.
void write_walk(const std::vector<Place>& places, const std::string& typed, std::ostream& out) {
  out << "  local word place='' next=''\n  for word in " << typed << "; do\n    case \"$place/$word\" in\n";
  for (const Place& place : places) {
    if (!place.path.empty()) out << "      " << place.joined() << ") place=\"$place/$word\" ;;\n";
  }
  out << "    esac\n  done\n  case \"$place\" in\n";
  for (const Place& place : places) out << "    '" << place.joined() << "') next='" << place.words() << "' ;;\n";
  out << "  esac\n";
}

void write_bash(const std::vector<Place>& places, std::ostream& out) {
  out << "# bash completion for weir: source <(weir completion bash)\n_weir() {\n";
  write_walk(places, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"", out);
  out << "  COMPREPLY=($(compgen -W \"$next\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
         "complete -o default -F _weir weir\n";
}

void write_zsh(const std::vector<Place>& places, std::ostream& out) {
  out << "#compdef weir\n# zsh completion for weir: source <(weir completion zsh)\n_weir() {\n";
  write_walk(places, "\"${(@)words[2,CURRENT-1]}\"", out);
  out << "  compadd -- ${=next}\n  _files\n}\ncompdef _weir weir\n";
}

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

void write_fish(const std::vector<Place>& places, std::ostream& out) {
  out << "# fish completion for weir: weir completion fish | source\n";
  for (const Place& place : places) {
    std::string condition = place.path.empty() ? "__fish_use_subcommand" : "";
    for (const std::string& word : place.path) {
      condition += (condition.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") + word;
    }
    const std::string start = "complete -c weir -n " + fish_quoted(condition);
    for (const Word& verb : place.verbs) {
      out << start << " -f -a " << verb.text << " -d " << fish_quoted(verb.help) << '\n';
    }
    for (const Word& option : place.options) {
      out << start << " -l " << option.text.substr(2) << " -d " << fish_quoted(option.help) << '\n';
    }
  }
}

int complete(const VerbView& program, const std::string& shell, const Terminal& terminal) {
  std::vector<Place> places;
  walk(program, {}, places);
  if (shell == "bash") write_bash(places, terminal.out);
  if (shell == "zsh") write_zsh(places, terminal.out);
  if (shell == "fish") write_fish(places, terminal.out);
  return kExitAllowed;
}

}  // namespace

void add_completion(CLI::App& parent, Session& session) {
  Command verb(parent, "completion", "Print a completion script for your shell");
  const auto shell = std::make_shared<std::string>();
  verb.choice("shell", *shell, {"bash", "zsh", "fish"}, "bash, zsh or fish").required();
  verb.footer(
      "Examples:\n"
      "  source <(weir completion bash)\n"
      "  weir completion zsh > \"${fpath[1]}/_weir\"\n"
      "  weir completion fish | source");
  verb.action(session, [&session, &parent, shell] { return complete(view_of(parent), *shell, session.terminal); });
}

}  // namespace weir::cli
