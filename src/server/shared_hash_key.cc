#include "server/shared_hash_key.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/hash_key.h"
#include "server/redis_settings.h"
#include "stores/redis/directory.h"
#include "stores/redis/slot.h"

namespace weir::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{10};
constexpr std::size_t kShownReason = 200;

// Log in and choose the database; with Sentinel also make sure that it is a master.
redis::Greeting make_greeting(const redis::RedisOptions& options) {
  using Expect = redis::Greeting::Expect;
  redis::Greeting greeting;
  if (!options.password.empty() || !options.user.empty()) {
    redis::CommandWriter auth(greeting.commands, options.user.empty() ? 2 : 3);
    auth.word("AUTH");
    if (!options.user.empty()) auth.word(options.user);
    auth.word(options.password);
    greeting.replies.push_back(Expect::success);
  }
  if (options.database != 0) {
    redis::CommandWriter(greeting.commands, 2).word("SELECT").number(options.database);
    greeting.replies.push_back(Expect::success);
  }
  if (options.topology == redis::Topology::sentinel) {
    redis::CommandWriter(greeting.commands, 1).word("ROLE");
    greeting.replies.push_back(Expect::role_master);
  }
  return greeting;
}

// Why the first server cannot be used, for the message. The directory's connections keep that to themselves.
class Doorbell final : private redis::ConnectionOwner {
 public:
  Doorbell(boost::asio::io_context& loop, const redis::NodeContext& context)
      : connection_(loop, context.tls, context.greeting, context.options.connect_timeout, /*seed=*/1, *this) {}

  void ring(const redis::Address& address) { connection_.open(address); }
  const std::string& trouble() const { return trouble_; }

 private:
  void on_ready() override { trouble_.clear(); }
  void on_down(std::string_view why) override { trouble_ = why.substr(0, kShownReason); }

  std::string trouble_;
  redis::Connection connection_;
};

class Exchange final : private redis::ReplyHandler {
 public:
  Exchange(redis::RedisOptions options, std::shared_ptr<redis::TlsSetup> tls, const HashKey& proposal)
      : options_(std::move(options)),
        proposal_(hash_key_text(proposal)),
        context_{loop_, options_, std::move(tls), make_greeting(options_), stats_, {}, /*random=*/1},
        doorbell_(loop_, context_),
        directory_(redis::make_directory(context_)) {}

  Result<HashKey> run(Duration patience) {
    const auto end = steady_clock::now() + patience;
    directory_->open();
    // A sentinel greets in its own way, so its door is left alone.
    if (options_.topology != redis::Topology::sentinel) doorbell_.ring(options_.seeds.front());
    while (!kept_ && steady_clock::now() < end) {
      ask();
      loop_.restart();
      loop_.run_for(kTurn);
    }
    if (!kept_) return unreachable();
    if (const std::optional<HashKey> key = parse_hash_key(*kept_)) return *key;
    return Failure{Code::invalid_argument, std::string("store: the key ") + kHashKeyName +
                                               " in Redis is not a hash key, expected 32 hexadecimal digits"};
  }

 private:
  void ask() {
    if (asking_) return;
    redis::Node* const node = directory_->node_for(slot_);
    redis::Connection* const connection = node == nullptr || !node->connected() ? nullptr : node->pick();
    if (connection == nullptr) return;
    asking_ = true;
    std::string& out = connection->start();
    redis::CommandWriter(out, 4).word("SET").word(kHashKeyName).word(proposal_).word("NX");
    redis::CommandWriter(out, 2).word("GET").word(kHashKeyName);
    connection->finish(*this, steady_clock::now() + options_.connect_timeout, /*skipped=*/1);
  }

  void on_reply(redis::Reply reply, redis::SteadyTime) override {
    asking_ = false;
    loop_.stop();
    const redis::ReplyItem& answer = reply[0];
    if (answer.kind == redis::ReplyKind::text) {
      kept_ = std::string(answer.text);
    } else if (answer.kind == redis::ReplyKind::error) {
      trouble_ = answer.text.substr(0, kShownReason);
      if (redis::Node* const node = directory_->node_for(slot_)) directory_->doubt(*node);
    } else {
      trouble_ = std::string("it does not keep the key ") + kHashKeyName;
    }
  }

  void on_lost(redis::FailureKind kind, redis::SteadyTime) override {
    asking_ = false;
    trouble_ = failure_kind_name(kind);
  }

  Failure unreachable() const {
    std::string why = trouble_.empty() ? doorbell_.trouble() : trouble_;
    if (why.empty()) why = "no answer";
    return {Code::unavailable, "Redis unreachable at " + servers_text(options_) + " (" + why +
                                   "): start Redis, or set hash_key_file so that Weir can start without it"};
  }

  const redis::RedisOptions options_;
  const std::string proposal_;
  const std::uint16_t slot_ = redis::slot_of_tag(kHashKeyName);  // a key without braces is its own tag
  boost::asio::io_context loop_{1};
  redis::StoreStats stats_;
  redis::NodeContext context_;
  bool asking_ = false;
  std::string trouble_;
  std::optional<std::string> kept_;
  Doorbell doorbell_;
  std::unique_ptr<redis::Directory> directory_;
};

}  // namespace

Result<HashKey> agree_on_hash_key(const redis::RedisOptions& options, const HashKey& proposal, Duration patience) {
  Result<std::shared_ptr<redis::TlsSetup>> tls = redis::make_tls_setup(options.tls);
  if (!tls.ok()) return tls.failure();
  return Exchange(options, std::move(tls).value(), proposal).run(patience);
}

}  // namespace weir::server
