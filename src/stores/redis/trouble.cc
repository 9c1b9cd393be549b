#include "stores/redis/trouble.h"

#include <algorithm>

namespace weir::redis {
namespace {

constexpr std::size_t kShownBytes = 200;

struct Meaning {
  std::string_view word;
  FailureKind kind;
};

// Errors that concern the whole server, whichever key was asked for.
constexpr Meaning kMeanings[] = {
    {"LOADING", FailureKind::loading},
    {"MASTERDOWN", FailureKind::loading},
    {"BUSY", FailureKind::loading},
    {"READONLY", FailureKind::read_only},
    // A master that has lost its replicas (min-replicas-to-write) may have lost its office too.
    {"NOREPLICAS", FailureKind::read_only},
    {"OOM", FailureKind::memory},
    {"CLUSTERDOWN", FailureKind::cluster},
    {"NOPERM", FailureKind::permission},
    {"NOAUTH", FailureKind::permission},
    {"WRONGPASS", FailureKind::permission},
    {"MISCONF", FailureKind::other},
};

// Servers before Redis 7 put the error of a script's command after a text of their own.
bool says_inside(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at != text.npos && at > 0 && (text[at - 1] == ' ' || text[at - 1] == '-') &&
         text.substr(at + word.size()).starts_with(' ');
}

}  // namespace

const char* cause_word(Cause cause) {
  switch (cause) {
    case Cause::unreachable:
      return "unreachable";
    case Cause::address:
      return "address";
    case Cause::tls:
      return "tls";
    case Cause::certificate:
      return "certificate";
    case Cause::host_name:
      return "host_name";
    case Cause::auth:
      return "auth";
    case Cause::permission:
      return "permission";
    case Cause::database:
      return "database";
    case Cause::not_master:
      return "not_master";
    case Cause::no_master:
      return "no_master";
    case Cause::no_reply:
      return "no_reply";
    case Cause::lost:
      return "lost";
    case Cause::protocol:
      return "protocol";
    case Cause::loading:
      return "loading";
    case Cause::read_only:
      return "read_only";
    case Cause::memory:
      return "memory";
    case Cause::cluster:
      return "cluster";
    case Cause::other:
      break;
  }
  return "other";
}

FailureKind kind_of(const ReplyItem& error) {
  const bool in_script = error.text.find("user_script") != std::string_view::npos;
  for (const Meaning& meaning : kMeanings) {
    if (is_error(error, meaning.word)) return meaning.kind;
    if (in_script && says_inside(error.text, meaning.word)) return meaning.kind;
  }
  if (error.text.starts_with("ERR The user executing the script can't")) return FailureKind::permission;
  // The script ran and stumbled over what it found: that is about this bucket and no other.
  if (in_script || is_error(error, "WRONGTYPE") || is_error(error, "BADSTATE")) return FailureKind::bucket;
  return FailureKind::other;
}

Cause cause_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::connect:
      return Cause::unreachable;
    case FailureKind::timeout:
    case FailureKind::late:
      return Cause::no_reply;
    case FailureKind::lost:
      return Cause::lost;
    case FailureKind::loading:
      return Cause::loading;
    case FailureKind::read_only:
      return Cause::read_only;
    case FailureKind::memory:
      return Cause::memory;
    case FailureKind::cluster:
      return Cause::cluster;
    case FailureKind::permission:
      return Cause::permission;
    case FailureKind::refused:
    case FailureKind::overload:
    case FailureKind::bucket:
    case FailureKind::other:
      break;
  }
  return Cause::other;
}

Trouble trouble_of(FailureKind kind, std::string_view said) {
  // Not what the user may do is missing, but the user.
  const bool not_logged_in = said.starts_with("NOAUTH") || said.starts_with("WRONGPASS");
  return {not_logged_in ? Cause::auth : cause_of(kind), shown(said)};
}

std::string shown(std::string_view text) { return std::string(text.substr(0, kShownBytes)); }

std::string shown_without(std::string_view text, std::string_view secret) {
  // "ERR unknown command 'AUTH', with args beginning with: …"
  text = text.substr(0, text.find(", with args"));
  if (!secret.empty() && text.find(secret) != text.npos) text = text.substr(0, text.find(' '));
  if (!secret.empty() && text.find(secret) != text.npos) return "an error that repeats the password";
  return shown(text);
}

}  // namespace weir::redis
