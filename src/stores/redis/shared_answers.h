// SharedAnswers: what was answered to requests with an Idempotency-Key, kept in Redis for all nodes.
//
// The record of a request is the key `w1:{once.NN}:hash`, with the namespace like every key: a hash of whose key it is,
// and one of kShards tags by it. Value: 'I', version of this format (1 byte: 1), state (1: 1 running, 2 answered), hash
// of the request (16), nonce of the call that runs (8), moment from which the answer is told, in microseconds (7), the
// answer. A running record lapses after kRunning, so that a node that dies leaves no key behind. `w1:{once.NN}:keys` is
// a sorted set of the records of a tag by when they expire, which bounds their number.
//
// Belongs to one loop. Borrows everything it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/connection.h"
#include "stores/redis/directory.h"
#include "weir/bucket_key.h"

namespace weir::redis {

class SharedAnswers {
 public:
  static constexpr std::size_t kShards = 64;
  static constexpr std::chrono::milliseconds kRunning{10'000};
  static constexpr std::size_t kMaxAnswer = std::size_t{64} << 10;
  static constexpr std::size_t kMaxAsking = 10'000;  // calls under way

  // One request.
  struct Ticket {
    BucketKey scope;          // whose key, and which
    BucketKey body;           // what it asks for
    std::uint64_t nonce = 0;  // random
  };
  enum class Found : std::uint8_t {
    fresh,       // and running from now on
    replayed,    // the answer is there
    running,     // the first call with this key has no answer yet
    other_body,  // the key was used for something else
    full,        // there is no room for another key
    unavailable,
  };
  using Begun = std::function<void(Found, std::string_view answer)>;

  explicit SharedAnswers(const NodeContext& context) : context_(context) {}

  // Calls `done` exactly once, later. `most`: keys in all of Redis.
  void begin(const Ticket& ticket, std::size_t most, Directory& directory, SteadyTime now, Begun done);
  // No one waits for these. The answer is told from `delay` on, and for `keep` after that; one that is too long is not
  // kept, and the key is free again.
  void finish(const Ticket& ticket, std::string_view answer, Duration delay, Duration keep, Directory& directory,
              SteadyTime now);
  void forget(const Ticket& ticket, Directory& directory, SteadyTime now);

 private:
  class Asking final : public ReplyHandler {
   public:
    explicit Asking(SharedAnswers& owner) : owner_(owner) {}
    void on_reply(Reply reply, SteadyTime now) override;
    void on_lost(FailureKind kind, SteadyTime now) override;

    Begun done;  // empty: no one waits
    Node* node = nullptr;
    Directory* directory = nullptr;

   private:
    void end(Found found, std::string_view answer = {});

    SharedAnswers& owner_;
  };
  // Null: it cannot be sent.
  Connection* connection_for(const Ticket& ticket, Directory& directory, Node*& node) const;
  void send(Connection& connection, Node& node, Directory& directory, SteadyTime now, Begun done);
  std::string key_of(const Ticket& ticket) const;
  std::string keys_of(const Ticket& ticket) const;

  const NodeContext& context_;
  std::vector<std::unique_ptr<Asking>> all_;
  std::vector<Asking*> idle_;
};

}  // namespace weir::redis
