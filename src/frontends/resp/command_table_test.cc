// The table that clients read with COMMAND, and that decides what a peer may call before it has logged in, and with how
// many words.
#include "frontends/resp/command_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "frontends/resp/command_docs.h"

namespace weir::resp {
namespace {

// "cl.throttle -5 key weir", "auth -2 before_auth connection".
std::string line_of(const CommandSpec& command) {
  std::ostringstream line;
  line << command.name << ' ' << command.arity << (command.has_key ? " key" : "")
       << (command.before_auth ? " before_auth" : "") << ' ' << command.group;
  return line.str();
}

TEST(CommandTable, SaysOfEachCommandHowManyWordsItTakesAndWhoMayCallIt) {
  std::vector<std::string> lines;
  for (const CommandSpec& command : commands()) lines.push_back(line_of(command));
  EXPECT_THAT(lines, testing::ElementsAre(
                         "cl.throttle -5 key weir", "weir.check -3 weir", "weir.refund -3 weir", "weir.report -4 weir",
                         "weir.acquire -3 weir", "weir.renew -2 weir", "weir.release 2 weir", "weir.reserve -4 weir",
                         "weir.commit 3 weir", "weir.cancel 2 weir", "ping -1 connection", "echo 2 connection",
                         "hello -1 before_auth connection", "auth -2 before_auth connection", "select 2 connection",
                         "client -2 connection", "command -1 server", "config -2 server", "info -1 server",
                         "multi 1 transactions", "exec 1 transactions", "discard 1 transactions",
                         "reset 1 before_auth connection", "quit -1 before_auth connection"));
}

TEST(CommandTable, EveryArgumentIsNamedAndTyped) {
  for (const CommandSpec& command : commands()) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    int required = 1;
    for (const ArgumentSpec& argument : command.arguments) {
      EXPECT_FALSE(argument.name.empty()) << command.name;
      EXPECT_THAT(argument.type, testing::AnyOf("key", "string", "integer", "pure-token")) << command.name;
      if (!argument.optional) ++required;
    }
    const int words = command.arity < 0 ? -command.arity : command.arity;
    EXPECT_LE(required, words) << command.name << ": what is required must fit";
    if (command.arity > 0) {
      EXPECT_EQ(static_cast<int>(command.arguments.size()) + 1, command.arity) << command.name;
    }
  }
}

TEST(CommandTable, FindsACommandWhateverItsCase) {
  for (const CommandSpec& command : commands()) EXPECT_EQ(find_command(command.name), &command);
  EXPECT_EQ(find_command("Cl.ThRoTtLe"), find_command("cl.throttle"));
  EXPECT_EQ(find_command("cl.throttl"), nullptr);
  EXPECT_EQ(find_command(""), nullptr);
}

TEST(CommandTable, CountsTheNameAsAWord) {
  const CommandSpec& exactly_two = *find_command("echo");
  EXPECT_FALSE(arity_fits(exactly_two, 1));
  EXPECT_TRUE(arity_fits(exactly_two, 2));
  EXPECT_FALSE(arity_fits(exactly_two, 3));
  const CommandSpec& at_least_two = *find_command("config");
  EXPECT_FALSE(arity_fits(at_least_two, 1));
  EXPECT_TRUE(arity_fits(at_least_two, 2));
  EXPECT_TRUE(arity_fits(at_least_two, 9));
}

TEST(CommandTable, OnlyTheCommandsThatEndATransactionAreNotQueued) {
  std::vector<std::string> immediate;
  for (const CommandSpec& command : commands()) {
    if (is_immediate(command.id)) immediate.emplace_back(command.name);
  }
  EXPECT_THAT(immediate, testing::ElementsAre("multi", "exec", "discard", "reset", "quit"));
}

std::string answer(const std::vector<std::string_view>& words, RespVersion version = RespVersion::two) {
  std::string out;
  ReplyWriter reply(out, version);
  answer_command(words, reply);
  return out;
}

TEST(CommandDocs, DescribeACommandAsRedisDoes) {
  EXPECT_EQ(answer({"COMMAND", "INFO", "cl.throttle", "AUTH", "nosuch"}),
            "*3\r\n"
            "*10\r\n$11\r\ncl.throttle\r\n:-5\r\n*2\r\n+write\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*1\r\n+@weir\r\n"
            "*0\r\n*0\r\n*0\r\n"
            "*10\r\n$4\r\nauth\r\n:-2\r\n*2\r\n+no_auth\r\n+fast\r\n:0\r\n:0\r\n:0\r\n*1\r\n+@connection\r\n"
            "*0\r\n*0\r\n*0\r\n"
            "$-1\r\n");
  EXPECT_EQ(
      answer({"COMMAND", "DOCS", "nosuch", "auth"}),
      "*2\r\n$4\r\nauth\r\n*8\r\n$7\r\nsummary\r\n$28\r\nAuthenticates the connection\r\n$5\r\nsince\r\n$5\r\n0.1.0\r\n"
      "$5\r\ngroup\r\n$10\r\nconnection\r\n$9\r\narguments\r\n*2\r\n"
      "*6\r\n$4\r\nname\r\n$8\r\nusername\r\n$4\r\ntype\r\n$6\r\nstring\r\n$5\r\nflags\r\n*1\r\n+optional\r\n"
      "*4\r\n$4\r\nname\r\n$8\r\npassword\r\n$4\r\ntype\r\n$6\r\nstring\r\n");
  // A token, both flags, a command without arguments.
  const std::string check = answer({"COMMAND", "DOCS", "weir.check"});
  EXPECT_NE(check.find("*8\r\n$4\r\nname\r\n$4\r\ncost\r\n$4\r\ntype\r\n$7\r\ninteger\r\n$5\r\ntoken\r\n$4\r\nCOST\r\n"
                       "$5\r\nflags\r\n*1\r\n+optional\r\n"),
            std::string::npos)
      << check;
  EXPECT_NE(check.find("$5\r\nflags\r\n*1\r\n+multiple\r\n"), std::string::npos) << check;
  EXPECT_TRUE(answer({"COMMAND", "DOCS", "multi"}).starts_with("*2\r\n$5\r\nmulti\r\n*6\r\n"));
}

TEST(CommandDocs, ListAllWhenNoneIsNamed) {
  const std::string count = std::to_string(commands().size());
  EXPECT_TRUE(answer({"COMMAND"}).starts_with("*" + count + "\r\n*10\r\n$11\r\ncl.throttle\r\n"));
  EXPECT_EQ(answer({"COMMAND"}), answer({"COMMAND", "INFO"}));
  EXPECT_TRUE(answer({"COMMAND", "LIST"}).starts_with("*" + count + "\r\n$11\r\ncl.throttle\r\n$10\r\nweir.check\r\n"));
  EXPECT_TRUE(answer({"COMMAND", "DOCS"}, RespVersion::three).starts_with("%" + count + "\r\n$11\r\ncl.throttle\r\n"));
  EXPECT_EQ(answer({"COMMAND", "COUNT"}), ":" + count + "\r\n");
}

TEST(CommandDocs, RefuseWhatTheyDoNotKnow) {
  for (const std::vector<std::string_view>& words : {std::vector<std::string_view>{"COMMAND", "GETKEYS", "x"},
                                                     {"COMMAND", "COUNT", "x"},
                                                     {"COMMAND", "LIST", "FILTERBY"}}) {
    EXPECT_TRUE(answer(words).starts_with("-ERR unknown subcommand; expected COMMAND [COUNT"));
  }
}

}  // namespace
}  // namespace weir::resp
