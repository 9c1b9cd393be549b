#include "frontends/resp/command_table.h"

#include "base/ascii.h"

namespace weir::resp {
namespace {

constexpr ArgumentSpec kThrottle[] = {{"key", "key", ""},
                                      {"max_burst", "integer", ""},
                                      {"count", "integer", ""},
                                      {"period", "integer", ""},
                                      {"quantity", "integer", "", true}};
constexpr ArgumentSpec kCheck[] = {{"cost", "integer", "COST", true},
                                   {"peek", "pure-token", "PEEK", true},
                                   {"attribute value", "string", "", false, true}};
constexpr ArgumentSpec kRefund[] = {{"cost", "integer", "COST", true}, {"attribute value", "string", "", false, true}};
constexpr ArgumentSpec kReport[] = {{"FAILURE|SUCCESS", "string", ""},
                                    {"milliseconds", "integer", "DURATION", true},
                                    {"attribute value", "string", "", false, true}};
constexpr ArgumentSpec kAcquire[] = {{"cost", "integer", "COST", true},
                                     {"milliseconds", "integer", "TTL", true},
                                     {"id", "string", "ID", true},
                                     {"attribute value", "string", "", false, true}};
constexpr ArgumentSpec kRenew[] = {{"handle", "string", ""}, {"milliseconds", "integer", "TTL", true}};
constexpr ArgumentSpec kRelease[] = {{"handle", "string", ""}};
constexpr ArgumentSpec kReserve[] = {{"amount", "string", ""},
                                     {"cost", "integer", "COST", true},
                                     {"milliseconds", "integer", "TTL", true},
                                     {"id", "string", "ID", true},
                                     {"partial", "pure-token", "PARTIAL", true},
                                     {"dryrun", "pure-token", "DRYRUN", true},
                                     {"attribute value", "string", "", false, true}};
constexpr ArgumentSpec kCommit[] = {{"handle", "string", ""}, {"actual", "integer", ""}};
constexpr ArgumentSpec kPing[] = {{"message", "string", "", true}};
constexpr ArgumentSpec kEcho[] = {{"message", "string", ""}};
constexpr ArgumentSpec kHello[] = {{"protover", "integer", "", true},
                                   {"username password", "string", "AUTH", true},
                                   {"clientname", "string", "SETNAME", true}};
constexpr ArgumentSpec kAuth[] = {{"username", "string", "", true}, {"password", "string", ""}};
constexpr ArgumentSpec kSelect[] = {{"index", "integer", ""}};
constexpr ArgumentSpec kSubcommand[] = {{"subcommand", "string", ""}, {"argument", "string", "", true, true}};
constexpr ArgumentSpec kOptionalSubcommand[] = {{"subcommand", "string", "", true}, {"name", "string", "", true, true}};
constexpr ArgumentSpec kInfo[] = {{"section", "string", "", true, true}};

// The hot ones first: find_command() goes down the list.
constexpr CommandSpec kCommands[] = {
    {CommandId::throttle, "cl.throttle", -5, true, false, "weir",
     "Takes from a bucket that the caller describes (GCRA)", kThrottle},
    {CommandId::check, "weir.check", -3, false, false, "weir", "Decides by the rules whether a request may proceed",
     kCheck},
    {CommandId::refund, "weir.refund", -3, false, false, "weir", "Gives a cost back to every rule the request matches",
     kRefund},
    {CommandId::report, "weir.report", -4, false, false, "weir", "Reports how the work of a request ended", kReport},
    {CommandId::acquire, "weir.acquire", -3, false, false, "weir", "Takes a lease of the request's concurrency rules",
     kAcquire},
    {CommandId::renew, "weir.renew", -2, false, false, "weir", "Renews a lease", kRenew},
    {CommandId::release, "weir.release", 2, false, false, "weir", "Ends a lease", kRelease},
    {CommandId::reserve, "weir.reserve", -4, false, false, "weir", "Reserves cost before the work", kReserve},
    {CommandId::commit, "weir.commit", 3, false, false, "weir", "Settles a reservation with what the work has cost",
     kCommit},
    {CommandId::cancel, "weir.cancel", 2, false, false, "weir", "Gives back what a reservation holds", kRelease},
    {CommandId::ping, "ping", -1, false, false, "connection", "Answers PONG, or the message", kPing},
    {CommandId::echo, "echo", 2, false, false, "connection", "Answers the message", kEcho},
    {CommandId::hello, "hello", -1, false, true, "connection", "Greets, and chooses the version of the protocol",
     kHello},
    {CommandId::auth, "auth", -2, false, true, "connection", "Authenticates the connection", kAuth},
    {CommandId::select, "select", 2, false, false, "connection", "Chooses a database; there is one, 0", kSelect},
    {CommandId::client, "client", -2, false, false, "connection", "Names and describes this connection", kSubcommand},
    {CommandId::command, "command", -1, false, false, "server", "Describes the commands", kOptionalSubcommand},
    {CommandId::config, "config", -2, false, false, "server", "GET: the configuration values that benchmarks read",
     kSubcommand},
    {CommandId::info, "info", -1, false, false, "server", "Describes the server", kInfo},
    {CommandId::multi, "multi", 1, false, false, "transactions", "Begins to queue commands, which EXEC then runs", {}},
    {CommandId::exec,
     "exec",
     1,
     false,
     false,
     "transactions",
     "Runs the queued commands and answers with all answers",
     {}},
    {CommandId::discard, "discard", 1, false, false, "transactions", "Discards the queued commands", {}},
    {CommandId::reset, "reset", 1, false, true, "connection", "Resets the connection to its initial state", {}},
    {CommandId::quit, "quit", -1, false, true, "connection", "Closes the connection", {}},
};

}  // namespace

std::span<const CommandSpec> commands() { return kCommands; }

bool is_word(std::string_view word, std::string_view lower) { return base::same_ignoring_case(word, lower); }

const CommandSpec* find_command(std::string_view name) {
  for (const CommandSpec& command : kCommands) {
    if (is_word(name, command.name)) return &command;
  }
  return nullptr;
}

}  // namespace weir::resp
