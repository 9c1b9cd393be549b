// The commands we answer, as data. Dispatch, COMMAND's tables and redis-cli's hints all come from here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::resp {

enum class CommandId : std::uint8_t {
  throttle,
  check,
  refund,
  report,
  acquire,
  renew,
  release,
  reserve,
  commit,
  cancel,
  ping,
  echo,
  hello,
  auth,
  select,
  client,
  command,
  config,
  info,
  multi,
  exec,
  discard,
  reset,
  quit,
};

struct ArgumentSpec {
  std::string_view name;
  std::string_view type;   // Redis's words: key, string, integer, pure-token, block
  std::string_view token;  // the literal word that introduces it, if any
  bool optional = false;
  bool multiple = false;
};

struct CommandSpec {
  CommandId id;
  std::string_view name;  // lower case
  int arity;              // words, the name included; negative: at least that many
  bool has_key;           // the second word is a key
  bool before_auth;       // answered to a peer that has not logged in
  std::string_view group;
  std::string_view summary;
  std::span<const ArgumentSpec> arguments;
};

std::span<const CommandSpec> commands();

// Whatever its case; null when there is none.
const CommandSpec* find_command(std::string_view name);

// ASCII, whatever the case of `word`; `lower` is in lower case.
bool is_word(std::string_view word, std::string_view lower);

// True for the commands that a transaction does not queue.
inline bool is_immediate(CommandId id) {
  return id == CommandId::multi || id == CommandId::exec || id == CommandId::discard || id == CommandId::reset ||
         id == CommandId::quit;
}

inline bool arity_fits(const CommandSpec& command, std::size_t words) {
  return command.arity >= 0 ? words == static_cast<std::size_t>(command.arity)
                            : words >= static_cast<std::size_t>(-command.arity);
}

}  // namespace weir::resp
