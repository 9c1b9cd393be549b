// Trouble: why a server cannot be used, in a word for machines and in the words of Redis, TLS or the system.
//
// The words are stable: logs carry them as `cause` and docs/failure.md lists them. Texts are bounded and never hold a
// secret of ours. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stores/redis/resp.h"
#include "stores/redis/stats.h"

namespace weir::redis {

enum class Cause : std::uint8_t {
  unreachable,  // no connection to that address
  address,      // the host name was not found
  tls,          // the handshake failed
  certificate,  // the server's certificate is not trusted
  host_name,    // the certificate is for another name
  auth,         // user or password refused, or missing
  permission,   // the user may not do what Weir does
  database,     // the database cannot be selected
  not_master,   // the server is not a master
  no_master,    // the sentinels know no master of that name
  no_reply,     // connected, and nothing is answered: frozen, overloaded, or far away
  lost,         // the connection ended
  protocol,     // what came is not the Redis protocol
  loading,
  read_only,
  memory,
  cluster,
  other,
};
const char* cause_word(Cause cause);
// True for causes that say no more than that the server is not there.
constexpr bool is_away(Cause cause) {
  return cause == Cause::unreachable || cause == Cause::lost || cause == Cause::no_reply;
}

struct Trouble {
  Cause cause = Cause::other;
  std::string said;
};

// What a server's error means for a call.
FailureKind kind_of(const ReplyItem& error);
Cause cause_of(FailureKind kind);
// What is wrong with a server at which a call failed, and of which this was said.
Trouble trouble_of(FailureKind kind, std::string_view said);
inline Trouble trouble_of(const ReplyItem& error) { return trouble_of(kind_of(error), error.text); }

// The error's text, short enough for a log line.
std::string shown(std::string_view text);
// The answer to AUTH, without what the server may have repeated of the command.
std::string shown_without(std::string_view text, std::string_view secret);

}  // namespace weir::redis
