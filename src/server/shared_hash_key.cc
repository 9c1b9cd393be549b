#include "server/shared_hash_key.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keys/key_ring.h"
#include "server/redis_settings.h"
#include "stores/redis/directory.h"
#include "stores/redis/slot.h"

namespace weir::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{10};

// Log in and choose the database; with Sentinel also make sure that it is a master.
redis::Greeting make_greeting(const redis::RedisOptions& options) {
  redis::Greeting greeting;
  greet(greeting, options.user, options.password, options.database);
  if (options.topology == redis::Topology::sentinel) {
    redis::CommandWriter(greeting.commands, 1).word("ROLE");
    greeting.steps.push_back(redis::Greeting::Step::role);
  }
  return greeting;
}

// What went wrong, before what Redis or TLS said of it, and what to do.
struct Advice {
  const char* trouble;
  const char* remedy;
};

Advice advice_on(redis::Cause cause) {
  using redis::Cause;
  switch (cause) {
    case Cause::auth:
      return {"the login was refused", "check the user and the password in the store URL"};
    case Cause::permission:
      return {"permission was denied", "give the user the rights listed in docs/redis.md"};
    case Cause::database:
      return {"the database cannot be selected", "check the database in the store URL, and `databases` of Redis"};
    case Cause::certificate:
      return {"the certificate of the server is not trusted", "check redis.tls_ca, or `ca` in the store URL"};
    case Cause::host_name:
      return {"the certificate of the server is for another host", "use a host name that the certificate has"};
    case Cause::tls:
      return {"the TLS handshake failed", "check that the port speaks TLS, and redis.tls_cert and redis.tls_key"};
    case Cause::address:
      return {"the host name was not found", "check the host in the store URL"};
    case Cause::no_master:
      return {"the sentinels have no master of that name", "check the name of the master in the store URL"};
    case Cause::not_master:
    case Cause::read_only:
      return {"the server does not take writes", "name the master in the store URL, or use redis-sentinel://"};
    case Cause::protocol:
      return {"it does not speak the Redis protocol", "check the port; a port that speaks TLS needs rediss://"};
    case Cause::no_reply:
      return {"it does not reply", "check whether Redis is busy or stopped"};
    default:
      return {"", "start Redis"};
  }
}

class Exchange final : private redis::ReplyHandler {
 public:
  Exchange(redis::RedisOptions options, std::shared_ptr<redis::TlsSetup> tls, const HashKey& proposal)
      : options_(std::move(options)),
        proposal_(keys::hash_key_text(proposal)),
        context_{.loop = loop_,
                 .options = options_,
                 .scripts = scripts_,
                 .tls = std::move(tls),
                 .greeting = make_greeting(options_),
                 .stats = stats_,
                 .listener = {.on_connect_failed = [this](const std::string&,
                                                          const redis::Trouble& trouble) { trouble_ = trouble; }},
                 .random = 1},
        directory_(redis::make_directory(context_)) {}

  Result<HashKey> run(Duration patience) {
    const auto end = steady_clock::now() + patience;
    directory_->open();
    while (!kept_ && steady_clock::now() < end) {
      ask();
      loop_.restart();
      loop_.run_for(kTurn);
    }
    if (!kept_) return unreachable();
    if (const std::optional<HashKey> key = keys::parse_hash_key(*kept_)) return *key;
    return Failure{Code::invalid_argument,
                   "store: the key " + name_ + " in Redis is not a hash key, expected 32 hexadecimal digits"};
  }

 private:
  void ask() {
    if (asking_) return;
    redis::Node* const node = directory_->node_for(slot_);
    redis::Connection* const connection = node == nullptr || !node->connected() ? nullptr : node->pick();
    if (connection == nullptr) return;
    asking_ = true;
    std::string& out = connection->start();
    redis::CommandWriter(out, 4).word("SET").word(name_).word(proposal_).word("NX");
    redis::CommandWriter(out, 2).word("GET").word(name_);
    const auto now = steady_clock::now();
    connection->finish(*this, {.now = now, .deadline = now + options_.connect_timeout, .skipped = 1});
  }

  void on_reply(redis::Reply reply, redis::SteadyTime) override {
    asking_ = false;
    loop_.stop();
    const redis::ReplyItem& answer = reply[0];
    if (answer.kind == redis::ReplyKind::text) {
      kept_ = std::string(answer.text);
    } else if (answer.kind == redis::ReplyKind::error) {
      trouble_ = trouble_of(answer);
      if (redis::Node* const node = directory_->node_for(slot_)) directory_->doubt(*node);
    } else {
      trouble_ = redis::Trouble{redis::Cause::other, "it does not keep the key " + name_};
    }
  }

  void on_lost(redis::FailureKind kind, redis::SteadyTime) override {
    asking_ = false;
    if (!trouble_) trouble_ = redis::Trouble{cause_of(kind), "no answer"};
  }

  Failure unreachable() const {
    const redis::Trouble why = trouble_.value_or(redis::Trouble{redis::Cause::no_reply, "no answer"});
    const Advice advice = advice_on(why.cause);
    const std::string where = servers_text(options_);
    std::string what =
        *advice.trouble == '\0' ? "Redis unreachable at " + where : "Redis at " + where + ": " + advice.trouble;
    if (why.cause == redis::Cause::auth) what += " for user " + (options_.user.empty() ? "default" : options_.user);
    return {Code::unavailable, what + " (" + why.said + "): " + advice.remedy +
                                   ", or set hash_key_file so that Weir can start without it"};
  }

  const redis::RedisOptions options_;
  const std::string proposal_;
  const std::string name_ = hash_key_name(options_);
  const std::uint16_t slot_ = redis::slot_of_tag(name_);  // a key without braces is its own tag
  boost::asio::io_context loop_{1};
  const redis::ScriptSet scripts_;
  redis::StoreStats stats_;
  redis::NodeContext context_;
  bool asking_ = false;
  std::optional<redis::Trouble> trouble_;
  std::optional<std::string> kept_;
  std::unique_ptr<redis::Directory> directory_;
};

}  // namespace

std::string hash_key_name(const redis::RedisOptions& options) {
  return redis::key_prefix(options.name_space) + "hash-key";
}

Result<HashKey> agree_on_hash_key(const redis::RedisOptions& options, const HashKey& proposal, Duration patience) {
  Result<std::shared_ptr<redis::TlsSetup>> tls = redis::make_tls_setup(options.tls);
  if (!tls.ok()) return tls.failure();
  return Exchange(options, std::move(tls).value(), proposal).run(patience);
}

}  // namespace weir::server
