#include "frontends/resp/command_docs.h"

#include <string>
#include <vector>

#include "frontends/resp/command_table.h"

namespace weir::resp {
namespace {

constexpr std::string_view kSince = "0.1.0";

void write_flags(const CommandSpec& command, ReplyWriter& reply) {
  const bool limits = command.group == "weir";
  const std::size_t count = 1 + (limits ? 1 : 0) + (command.before_auth ? 1 : 0);
  reply.set(count);
  if (limits) reply.simple("write");
  if (command.before_auth) reply.simple("no_auth");
  reply.simple("fast");
}

// The ten members of Redis 7's COMMAND INFO.
void write_info(const CommandSpec& command, ReplyWriter& reply) {
  reply.array(10);
  reply.bulk(command.name);
  reply.integer(command.arity);
  write_flags(command, reply);
  const std::int64_t key = command.has_key ? 1 : 0;
  reply.integer(key);
  reply.integer(key);
  reply.integer(key);
  reply.set(1);
  reply.simple("@" + std::string(command.group));
  reply.array(0);
  reply.array(0);
  reply.array(0);
}

void write_argument(const ArgumentSpec& argument, ReplyWriter& reply) {
  const std::size_t flags = (argument.optional ? 1 : 0) + (argument.multiple ? 1 : 0);
  reply.map(2 + (argument.token.empty() ? 0 : 1) + (flags > 0 ? 1 : 0));
  reply.bulk("name");
  reply.bulk(argument.name);
  reply.bulk("type");
  reply.bulk(argument.type);
  if (!argument.token.empty()) {
    reply.bulk("token");
    reply.bulk(argument.token);
  }
  if (flags == 0) return;
  reply.bulk("flags");
  reply.set(flags);
  if (argument.optional) reply.simple("optional");
  if (argument.multiple) reply.simple("multiple");
}

void write_docs(const CommandSpec& command, ReplyWriter& reply) {
  reply.bulk(command.name);
  reply.map(command.arguments.empty() ? 3 : 4);
  reply.bulk("summary");
  reply.bulk(command.summary);
  reply.bulk("since");
  reply.bulk(kSince);
  reply.bulk("group");
  reply.bulk(command.group);
  if (command.arguments.empty()) return;
  reply.bulk("arguments");
  reply.array(command.arguments.size());
  for (const ArgumentSpec& argument : command.arguments) write_argument(argument, reply);
}

void answer_info(std::span<const std::string_view> names, ReplyWriter& reply) {
  if (names.empty()) {
    reply.array(commands().size());
    for (const CommandSpec& command : commands()) write_info(command, reply);
    return;
  }
  reply.array(names.size());
  for (const std::string_view name : names) {
    const CommandSpec* const command = find_command(name);
    command != nullptr ? write_info(*command, reply) : reply.null();
  }
}

void answer_docs(std::span<const std::string_view> names, ReplyWriter& reply) {
  std::vector<const CommandSpec*> wanted;
  for (const std::string_view name : names) {
    if (const CommandSpec* command = find_command(name)) wanted.push_back(command);
  }
  if (names.empty()) {
    for (const CommandSpec& command : commands()) wanted.push_back(&command);
  }
  reply.map(wanted.size());
  for (const CommandSpec* command : wanted) write_docs(*command, reply);
}

}  // namespace

void answer_command(std::span<const std::string_view> words, ReplyWriter& reply) {
  if (words.size() == 1) return answer_info({}, reply);
  const std::string_view sub = words[1];
  if (is_word(sub, "count") && words.size() == 2) return reply.integer(static_cast<std::int64_t>(commands().size()));
  if (is_word(sub, "info")) return answer_info(words.subspan(2), reply);
  if (is_word(sub, "docs")) return answer_docs(words.subspan(2), reply);
  if (is_word(sub, "list") && words.size() == 2) {
    reply.array(commands().size());
    for (const CommandSpec& command : commands()) reply.bulk(command.name);
    return;
  }
  reply.error("ERR unknown subcommand; expected COMMAND [COUNT | LIST | INFO name … | DOCS name …]");
}

}  // namespace weir::resp
