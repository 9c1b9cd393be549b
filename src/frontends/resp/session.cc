#include "frontends/resp/session.h"

#include <algorithm>
#include <utility>

#include "base/secret_compare.h"
#include "frontends/resp/command_docs.h"

namespace weir::resp {
namespace {

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// What redis-benchmark asks before it starts: whether writing to disk is part of what it measures. It is not.
struct Setting {
  std::string_view name;
  std::string_view value;
};
constexpr Setting kSettings[] = {{"save", ""}, {"appendonly", "no"}};

}  // namespace

Session::Session(const RespOptions& options, std::uint64_t id, std::string_view address, int port)
    : options_(options),
      id_(id),
      address_(address),
      peer_(std::string(address) + ":" + std::to_string(port)),
      admitted_(options.password.empty()) {}

void Session::answer(CommandId id, Words words, ReplyWriter& reply) {
  switch (id) {
    case CommandId::ping:
      return ping(words, reply);
    case CommandId::echo:
      return reply.bulk(words[1]);
    case CommandId::hello:
      return hello(words, reply);
    case CommandId::auth:
      return auth(words, reply);
    case CommandId::select:
      return select(words, reply);
    case CommandId::client:
      return client(words, reply);
    case CommandId::command:
      return answer_command(words, reply);
    case CommandId::config:
      return config(words, reply);
    case CommandId::info:
      return info(words, reply);
    case CommandId::reset:
      return reset(reply);
    case CommandId::quit:
      leave();
      return reply.simple("OK");
    case CommandId::throttle:
    case CommandId::check:
    case CommandId::refund:
    case CommandId::report:
    case CommandId::acquire:
    case CommandId::renew:
    case CommandId::release:
    case CommandId::reserve:
    case CommandId::commit:
    case CommandId::cancel:
    case CommandId::multi:
    case CommandId::exec:
    case CommandId::discard:
      break;
  }
  reply.error("ERR this command is not the session's to answer");
}

void Session::ping(Words words, ReplyWriter& reply) {
  if (words.size() > 2) return reply.error("ERR wrong number of arguments for 'ping' command");
  words.size() == 2 ? reply.bulk(words[1]) : reply.simple("PONG");
}

RespVersion Session::version_of_answer(CommandId id, Words words) const {
  if (id == CommandId::reset) return RespVersion::two;
  if (id != CommandId::hello || words.size() < 2) return version_;
  if (words[1] == "2") return RespVersion::two;
  return words[1] == "3" ? RespVersion::three : version_;
}

bool Session::is_login(CommandId id, Words words) {
  if (id == CommandId::auth) return true;
  return id == CommandId::hello &&
         std::any_of(words.begin(), words.end(), [](auto word) { return is_word(word, "auth"); });
}

// HELLO [2|3 [AUTH user password] [SETNAME name]]: all of it or nothing.
void Session::hello(Words words, ReplyWriter& reply) {
  if (words.size() > 1 && words[1] != "2" && words[1] != "3")
    return reply.error("NOPROTO unsupported protocol version");
  const bool was_admitted = admitted_;
  std::string_view name;
  bool named = false;
  for (std::size_t at = 2; at < words.size();) {
    const std::size_t left = words.size() - at;
    if (is_word(words[at], "auth") && left > 2) {
      if (!log_in(words[at + 1], words[at + 2], reply)) return;
      at += 3;
    } else if (is_word(words[at], "setname") && left > 1) {
      name = words[at + 1];
      named = true;
      at += 2;
    } else {
      admitted_ = was_admitted;
      return reply.error("ERR syntax error in HELLO; expected HELLO [2|3 [AUTH user password] [SETNAME name]]");
    }
  }
  if (!admitted_) {
    return reply.error("NOAUTH HELLO must be called with the client already authenticated, or with AUTH user password");
  }
  if (named && !set_name(name, reply)) return;
  if (words.size() > 1) version_ = words[1] == "3" ? RespVersion::three : RespVersion::two;
  write_greeting(reply);
}

void Session::write_greeting(ReplyWriter& reply) const {
  reply.map(7);
  reply.bulk("server");
  reply.bulk("weir");
  reply.bulk("version");
  reply.bulk(options_.version);
  reply.bulk("proto");
  reply.integer(static_cast<std::int64_t>(version_));
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(id_));
  reply.bulk("mode");
  reply.bulk("standalone");
  reply.bulk("role");
  reply.bulk("master");
  reply.bulk("modules");
  reply.array(0);
}

void Session::auth(Words words, ReplyWriter& reply) {
  if (words.size() > 3) return reply.error("ERR wrong number of arguments for 'auth' command");
  const std::string_view user = words.size() == 3 ? words[1] : std::string_view(options_.user);
  if (options_.password.empty() && words.size() == 2) {
    return reply.error("ERR Client sent AUTH, but no password is set");
  }
  if (log_in(user, words.back(), reply)) reply.simple("OK");
}

// On failure the answer is written.
bool Session::log_in(std::string_view user, std::string_view password, ReplyWriter& reply) {
  // With no password configured the user is let in with any, as Redis does: clients with a URL always send one.
  const bool known = base::same_secret(user, options_.user);
  const bool right = options_.password.empty() || base::same_secret(password, options_.password);
  if (known && right) {
    admitted_ = true;
    if (options_.logins != nullptr) options_.logins->succeeded(transport::LoginKind::password, address_);
    return true;
  }
  if (options_.logins != nullptr) {
    options_.logins->failed(
        {.listener = options_.listener, .kind = transport::LoginKind::password, .address = address_});
  }
  reply.error("WRONGPASS invalid username-password pair or user is disabled.");
  if (++failed_logins_ >= kMaxFailedLogins) leave();
  return false;
}

void Session::select(Words words, ReplyWriter& reply) {
  words[1] == "0" ? reply.simple("OK") : reply.error("ERR DB index is out of range; there is one database, 0");
}

void Session::client(Words words, ReplyWriter& reply) {
  const std::string_view sub = words[1];
  if (is_word(sub, "id") && words.size() == 2) return reply.integer(static_cast<std::int64_t>(id_));
  if (is_word(sub, "getname") && words.size() == 2) return name_.empty() ? reply.null() : reply.bulk(name_);
  if (is_word(sub, "info") && words.size() == 2) return describe_client(reply);
  if (is_word(sub, "setname") && words.size() == 3) {
    if (set_name(words[2], reply)) reply.simple("OK");
    return;
  }
  if (is_word(sub, "setinfo") && words.size() == 4) {
    if (!is_word(words[2], "lib-name") && !is_word(words[2], "lib-ver")) {
      return reply.error("ERR CLIENT SETINFO supports lib-name and lib-ver");
    }
    return reply.simple("OK");
  }
  if (is_word(sub, "reply") && words.size() == 3) {
    if (is_word(words[2], "on")) return reply.simple("OK");
    return reply.error("ERR CLIENT REPLY supports ON only: every command is answered");
  }
  // Nothing is evicted or touched by a client, and no maintenance is announced: agreeing costs nothing.
  const bool harmless = is_word(sub, "no-evict") || is_word(sub, "no-touch") || is_word(sub, "maint_notifications");
  if (harmless && words.size() >= 3) return reply.simple("OK");
  reply.error(
      "ERR unknown subcommand or wrong number of arguments; CLIENT supports ID, INFO, GETNAME, SETNAME, SETINFO, REPLY "
      "ON, NO-EVICT, NO-TOUCH and MAINT_NOTIFICATIONS");
}

void Session::describe_client(ReplyWriter& reply) const {
  const std::string text = "id=" + std::to_string(id_) + " addr=" + peer_ + " name=" + name_ +
                           " db=0 resp=" + std::to_string(static_cast<int>(version_)) + " user=" + options_.user + "\n";
  reply.bulk(text);
}

// On failure the answer is written.
bool Session::set_name(std::string_view name, ReplyWriter& reply) {
  if (name.size() > kMaxName || !printable(name)) {
    reply.error("ERR Client names cannot contain spaces, newlines or special characters, nor more than 128 of others.");
    return false;
  }
  name_ = name;
  return true;
}

void Session::config(Words words, ReplyWriter& reply) {
  if (!is_word(words[1], "get") || words.size() < 3) return reply.error("ERR only CONFIG GET is supported");
  const auto asked = [&](std::string_view name) {
    return std::any_of(words.begin() + 2, words.end(), [&](std::string_view w) { return is_word(w, name); });
  };
  reply.map(static_cast<std::size_t>(
      std::count_if(std::begin(kSettings), std::end(kSettings), [&](const Setting& s) { return asked(s.name); })));
  for (const Setting& setting : kSettings) {
    if (!asked(setting.name)) continue;
    reply.bulk(setting.name);
    reply.bulk(setting.value);
  }
}

// One section, whichever is asked for: there is not more to tell. `loading:0` is what clients wait for.
void Session::info(Words, ReplyWriter& reply) const {
  reply.bulk("# Server\r\nserver_name:weir\r\nweir_version:" + options_.version +
             "\r\nredis_mode:standalone\r\nrole:master\r\nloading:0\r\n");
}

void Session::reset(ReplyWriter& reply) {
  version_ = RespVersion::two;
  admitted_ = options_.password.empty();
  name_.clear();
  reply.simple("RESET");
}

}  // namespace weir::resp
