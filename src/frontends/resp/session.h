// Session: what is known about one connection (login, name, protocol version), and the commands that concern only it.
//
// Not thread-safe; one per connection. `options` outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "frontends/resp/command_reader.h"
#include "frontends/resp/command_table.h"
#include "frontends/resp/reply_writer.h"
#include "frontends/transport/login_guard.h"

namespace weir::resp {

struct RespOptions {
  std::string password;             // empty: no login is needed
  std::string user = "default";     // the only one
  std::string version = "unknown";  // ours, as HELLO and INFO tell it
  std::string listener = "resp";    // its name in logs and metrics
  std::shared_ptr<transport::LoginGuard>
      logins{};  // null: logins that fail have no consequences beyond their connection
};

class Session {
 public:
  // After this many failed logins the connection is closed.
  static constexpr int kMaxFailedLogins = 4;
  static constexpr std::size_t kMaxName = 128;

  using Words = std::span<const std::string_view>;

  Session(const RespOptions& options, std::uint64_t id, std::string_view address, int port);

  const RespOptions& options() const { return options_; }
  bool admitted() const { return admitted_; }
  const ReadLimits& read_limits() const { return admitted_ ? kClientLimits : kStrangerLimits; }
  RespVersion version() const { return version_; }
  // The connection is to be closed once the answers so far are sent.
  bool leaving() const { return leaving_; }
  void leave() { leaving_ = true; }

  // Answers any command but those that need the limiter or a transaction. `words` fits the command's arity.
  void answer(CommandId id, Words words, ReplyWriter& reply);

  // HELLO answers in the version it chooses, which is known before it is answered.
  RespVersion version_of_answer(CommandId id, Words words) const;
  // True for a command that shows a password.
  static bool is_login(CommandId id, Words words);

 private:
  void ping(Words words, ReplyWriter& reply);
  void hello(Words words, ReplyWriter& reply);
  void write_greeting(ReplyWriter& reply) const;
  void auth(Words words, ReplyWriter& reply);
  bool log_in(std::string_view user, std::string_view password, ReplyWriter& reply);
  void select(Words words, ReplyWriter& reply);
  void client(Words words, ReplyWriter& reply);
  void describe_client(ReplyWriter& reply) const;
  bool set_name(std::string_view name, ReplyWriter& reply);
  void config(Words words, ReplyWriter& reply);
  void info(Words words, ReplyWriter& reply) const;
  void reset(ReplyWriter& reply);

  const RespOptions& options_;
  const std::uint64_t id_;
  const std::string address_;
  const std::string peer_;  // with the port
  RespVersion version_ = RespVersion::two;
  bool admitted_;
  bool leaving_ = false;
  int failed_logins_ = 0;
  std::string name_;
};

}  // namespace weir::resp
