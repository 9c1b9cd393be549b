#include "server/redis_reader.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "server/redis_settings.h"
#include "stores/redis/directory.h"
#include "stores/redis/slot.h"

namespace weir::server {
namespace {

constexpr std::chrono::milliseconds kReaderTurn{10};

redis::Greeting reader_greeting(const redis::RedisOptions& options) {
  redis::Greeting greeting;
  greet(greeting, options.user, options.password, options.database);
  return greeting;
}

// The part in braces, or else the whole name.
std::uint16_t slot_of_name(std::string_view name) {
  const std::size_t open = name.find('{');
  const std::size_t close = open == name.npos ? name.npos : name.find('}', open);
  if (close == name.npos || close == open + 1) return redis::slot_of_tag(name);
  return redis::slot_of_tag(name.substr(open + 1, close - open - 1));
}

// One command after the other, each until it is answered.
class RedisReader final : private redis::ReplyHandler {
 public:
  RedisReader(redis::RedisOptions options, std::shared_ptr<redis::TlsSetup> tls)
      : options_(std::move(options)),
        context_{.loop = loop_,
                 .options = options_,
                 .scripts = scripts_,
                 .tls = std::move(tls),
                 .greeting = reader_greeting(options_),
                 .stats = stats_,
                 .listener = {.on_connect_failed = [this](const std::string&,
                                                          const redis::Trouble& trouble) { said_ = trouble.said; }},
                 .random = 1},
        directory_(redis::make_directory(context_)) {}

  Result<std::vector<StoredValue>> read(std::span<const std::string> names, Duration patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    directory_->open();
    std::vector<StoredValue> values;
    for (const std::string& name : names) {
      StoredValue stored;
      if (!ask({"GET", name}, slot_of_name(name), end)) return unreachable();
      stored.value = text_;
      stored.problem = error_;
      if (text_) {
        if (!ask({"PTTL", name}, slot_of_name(name), end)) return unreachable();
        stored.ttl_ms = number_;
      }
      values.push_back(std::move(stored));
    }
    return values;
  }

 private:
  bool ask(std::initializer_list<std::string_view> words, std::uint16_t slot, redis::SteadyTime end) {
    answered_ = false;
    bool asking = false;
    while (!answered_ && std::chrono::steady_clock::now() < end) {
      redis::Node* const node = directory_->node_for(directory_->slotted() ? slot : std::uint16_t{0});
      redis::Connection* const connection = node == nullptr || !node->connected() ? nullptr : node->pick();
      if (!asking && connection != nullptr) {
        redis::CommandWriter command(connection->start(), words.size());
        for (const std::string_view word : words) command.word(word);
        const auto now = std::chrono::steady_clock::now();
        connection->finish(*this, {.now = now, .deadline = now + options_.connect_timeout});
        asking = true;
        lost_ = false;
      }
      loop_.restart();
      loop_.run_for(kReaderTurn);
      if (lost_) asking = false;
    }
    return answered_;
  }

  void on_reply(redis::Reply reply, redis::SteadyTime) override {
    const redis::ReplyItem& answer = reply[0];
    text_ = answer.kind == redis::ReplyKind::text ? std::optional(std::string(answer.text)) : std::nullopt;
    number_ = answer.kind == redis::ReplyKind::integer ? answer.number : -1;
    error_ = answer.kind == redis::ReplyKind::error ? std::string(answer.text) : std::string();
    answered_ = true;
    loop_.stop();
  }
  void on_lost(redis::FailureKind, redis::SteadyTime) override {
    lost_ = true;
    loop_.stop();
  }

  Failure unreachable() const {
    return {Code::unavailable,
            "Redis at " + servers_text(options_) + " did not answer: " + (said_.empty() ? "no connection" : said_)};
  }

  const redis::RedisOptions options_;
  boost::asio::io_context loop_{1};
  const redis::ScriptSet scripts_;
  redis::StoreStats stats_;
  redis::NodeContext context_;
  std::string said_;
  bool answered_ = false;
  bool lost_ = false;
  std::optional<std::string> text_;
  std::int64_t number_ = -1;
  std::string error_;
  std::unique_ptr<redis::Directory> directory_;
};

}  // namespace

Result<std::vector<StoredValue>> read_stored(const redis::RedisOptions& options, std::span<const std::string> names,
                                             Duration patience) {
  Result<std::shared_ptr<redis::TlsSetup>> tls = redis::make_tls_setup(options.tls);
  if (!tls.ok()) return tls.failure();
  return RedisReader(options, std::move(tls).value()).read(names, patience);
}

}  // namespace weir::server
