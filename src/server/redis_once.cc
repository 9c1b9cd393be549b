#include "server/redis_once.h"

#include <optional>
#include <random>
#include <utility>

#include "frontends/http/recorded_answer.h"

namespace weir::server {
namespace {

using Found = http::IdempotencyTable::Found;
using redis::SharedAnswers;

std::uint64_t random_nonce() {
  thread_local std::mt19937_64 random{(std::uint64_t{std::random_device{}()} << 32U) | std::random_device{}()};
  return random();
}

Found found_of(SharedAnswers::Found found) {
  switch (found) {
    case SharedAnswers::Found::fresh:
      return Found::fresh;
    case SharedAnswers::Found::replayed:
      return Found::replayed;
    case SharedAnswers::Found::running:
      return Found::running;
    case SharedAnswers::Found::other_body:
      return Found::other_body;
    case SharedAnswers::Found::full:
      return Found::full;
    case SharedAnswers::Found::unavailable:
      break;
  }
  return Found::unavailable;
}

}  // namespace

class RedisOnce::Running final : public http::RunningAnswer {
 public:
  Running(const RedisStores& stores, std::size_t loop, const SharedAnswers::Ticket& ticket)
      : stores_(stores), loop_(loop), ticket_(ticket) {}
  ~Running() override {
    if (done_) return;
    if (redis::RedisStore* const store = stores_.store_of(loop_)) store->forget_once(ticket_);
  }

  void finish(const http::RecordedAnswer& answer, Duration delay, Duration keep) override {
    done_ = true;
    redis::RedisStore* const store = stores_.store_of(loop_);
    if (store != nullptr) store->finish_once(ticket_, http::encode_answer(answer), delay, keep);
  }

 private:
  const RedisStores& stores_;
  const std::size_t loop_;
  const SharedAnswers::Ticket ticket_;
  bool done_ = false;
};

void RedisOnce::begin(const std::string& scope, const BucketKey& body, std::function<void(Begun)> done) {
  redis::RedisStore* const store = stores_.store_of(loop_);
  if (store == nullptr) return done({});
  keys::SipHash hash(key_);
  hash.add_framed("idempotency");
  hash.add_framed(scope);
  keys::SipHash of_request = hash;
  of_request.add_word(body.high);
  of_request.add_word(body.low);
  const BucketKey id = of_request.finish();
  const SharedAnswers::Ticket ticket{.scope = hash.finish(), .body = body, .nonce = random_nonce()};
  store->begin_once(ticket, most_,
                    [this, ticket, id, done = std::move(done)](SharedAnswers::Found found, std::string_view bytes) {
                      Begun begun;
                      begun.found = found_of(found);
                      begun.id = id;
                      if (begun.found == Found::fresh)
                        begun.running = std::make_shared<Running>(stores_, loop_, ticket);
                      if (begun.found == Found::replayed) {
                        std::optional<http::RecordedAnswer> answer = http::decode_answer(bytes);
                        if (answer) begun.answer = std::move(*answer);
                        if (!answer) begun.found = Found::unavailable;
                      }
                      done(std::move(begun));
                    });
}

}  // namespace weir::server
