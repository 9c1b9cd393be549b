#include "stores/redis/shared_hash_key.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keys/key_ring.h"
#include "stores/redis/directory.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{10};

// Log in and choose the database; with Sentinel also make sure that it is a master.
Greeting make_greeting(const RedisOptions& options) {
  Greeting greeting;
  greet(greeting, options.user, options.password, options.database);
  if (options.topology == Topology::sentinel) {
    CommandWriter(greeting.commands, 1).word("ROLE");
    greeting.steps.push_back(Greeting::Step::role);
  }
  return greeting;
}

// What went wrong, before what Redis or TLS said of it, and what to do.
struct Advice {
  const char* trouble;
  const char* remedy;
};

Advice advice_on(Cause cause) {
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

class Exchange final : private ReplyHandler {
 public:
  Exchange(RedisOptions options, std::shared_ptr<TlsSetup> tls, const HashKey& proposal, std::string_view otherwise)
      : options_(std::move(options)),
        proposal_(keys::hash_key_text(proposal)),
        otherwise_(otherwise),
        context_{.loop = loop_,
                 .options = options_,
                 .scripts = scripts_,
                 .tls = std::move(tls),
                 .greeting = make_greeting(options_),
                 .stats = stats_,
                 .listener = {.on_connect_failed = [this](const std::string&,
                                                          const Trouble& trouble) { trouble_ = trouble; }},
                 .random = 1},
        directory_(make_directory(context_)) {}

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
    Node* const node = directory_->node_for(slot_);
    Connection* const connection = node == nullptr || !node->connected() ? nullptr : node->pick();
    if (connection == nullptr) return;
    asking_ = true;
    std::string& out = connection->start();
    CommandWriter(out, 4).word("SET").word(name_).word(proposal_).word("NX");
    CommandWriter(out, 2).word("GET").word(name_);
    const auto now = steady_clock::now();
    connection->finish(*this, {.now = now, .deadline = now + options_.connect_timeout, .skipped = 1});
  }

  void on_reply(Reply reply, SteadyTime) override {
    asking_ = false;
    loop_.stop();
    const ReplyItem& answer = reply[0];
    if (answer.kind == ReplyKind::text) {
      kept_ = std::string(answer.text);
    } else if (answer.kind == ReplyKind::error) {
      trouble_ = trouble_of(answer);
      if (Node* const node = directory_->node_for(slot_)) directory_->doubt(*node);
    } else {
      trouble_ = Trouble{Cause::other, "it does not keep the key " + name_};
    }
  }

  void on_lost(FailureKind kind, SteadyTime) override {
    asking_ = false;
    if (!trouble_) trouble_ = Trouble{cause_of(kind), "no answer"};
  }

  Failure unreachable() const {
    const Trouble why = trouble_.value_or(Trouble{Cause::no_reply, "no answer"});
    const Advice advice = advice_on(why.cause);
    const std::string where = servers_text(options_);
    std::string what =
        *advice.trouble == '\0' ? "Redis unreachable at " + where : "Redis at " + where + ": " + advice.trouble;
    if (why.cause == Cause::auth) what += " for user " + (options_.user.empty() ? "default" : options_.user);
    return {Code::unavailable, what + " (" + why.said + "): " + advice.remedy + ", " + std::string(otherwise_)};
  }

  const RedisOptions options_;
  const std::string proposal_;
  const std::string_view otherwise_;
  const std::string name_ = hash_key_name(options_);
  const std::uint16_t slot_ = slot_of_tag(name_);  // a key without braces is its own tag
  boost::asio::io_context loop_{1};
  const ScriptSet scripts_;
  StoreStats stats_;
  NodeContext context_;
  bool asking_ = false;
  std::optional<Trouble> trouble_;
  std::optional<std::string> kept_;
  std::unique_ptr<Directory> directory_;
};

}  // namespace

std::string hash_key_name(const RedisOptions& options) { return key_prefix(options.name_space) + "hash-key"; }

Result<HashKey> agree_on_hash_key(const RedisOptions& options, const HashKey& proposal, Duration patience,
                                  std::string_view otherwise) {
  Result<std::shared_ptr<TlsSetup>> tls = make_tls_setup(options.tls);
  if (!tls.ok()) return tls.failure();
  return Exchange(options, std::move(tls).value(), proposal, otherwise).run(patience);
}

}  // namespace weir::redis
