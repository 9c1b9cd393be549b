#include "stores/redis/shared_answers.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

constexpr std::size_t kHash = 32;

// KEYS: the record, the set. ARGV: hash of the request, nonce, most records of this tag, how long it may run in
// milliseconds. Answers SharedAnswers::Found, and the answer if it is there.
constexpr std::string_view kBegin = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local value = redis.call('GET', KEYS[1])
if value then
  if #value < 34 or value:byte() ~= 73 or value:byte(2) ~= 1 then
    return redis.error_reply('BADSTATE a key of Weir holds a value that Weir did not write')
  elseif value:sub(4, 19) ~= ARGV[1] then
    return { 3 }
  elseif value:byte(3) == 1 or struct.unpack('<I7', value, 28) > now then
    return { 2 }
  end
  return { 1, value:sub(35) }
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= ARGV[3] + 0 then
  return { 4 }
end
redis.call('ZADD', KEYS[2], now + ARGV[4] * 1000, KEYS[1])
redis.call('PEXPIREAT', KEYS[2], math.ceil(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] / 1000))
redis.call('SET', KEYS[1], '\73\1\1' .. ARGV[1] .. ARGV[2] .. string.rep('\0', 7), 'PX', ARGV[4])
return { 0 }
)lua";

// KEYS: as above. ARGV: hash of the request, nonce, the answer, microseconds until it is told, milliseconds for which
// it is kept. A record that another call runs, or has answered, stays.
constexpr std::string_view kFinish = R"lua(
local value = redis.call('GET', KEYS[1])
if value and (value:byte(3) ~= 1 or value:sub(20, 27) ~= ARGV[2]) then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('SET', KEYS[1], '\73\1\2' .. ARGV[1] .. ARGV[2] .. struct.pack('<I7', now + ARGV[4]) .. ARGV[3], 'PX', ARGV[5])
redis.call('ZADD', KEYS[2], now + ARGV[5] * 1000, KEYS[1])
redis.call('PEXPIREAT', KEYS[2], math.ceil(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] / 1000))
return 1
)lua";

// KEYS: as above. ARGV: nonce.
constexpr std::string_view kForget = R"lua(
local value = redis.call('GET', KEYS[1])
if value and value:byte(3) == 1 and value:sub(20, 27) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], KEYS[1])
end
return 1
)lua";

void put_word(std::string& out, std::uint64_t word) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift & 0xff);
}

std::string bytes_of(const BucketKey& key) {
  std::string bytes;
  put_word(bytes, key.high);
  put_word(bytes, key.low);
  return bytes;
}

std::string nonce_of(const SharedAnswers::Ticket& ticket) {
  std::string bytes;
  put_word(bytes, ticket.nonce);
  return bytes;
}

std::string tag_of(const SharedAnswers::Ticket& ticket) {
  return "once." + std::to_string(ticket.scope.low % SharedAnswers::kShards);
}

}  // namespace

std::string SharedAnswers::key_of(const Ticket& ticket) const {
  char digits[kHash];
  base::write_hex(digits, ticket.scope.high);
  base::write_hex(digits + 16, ticket.scope.low);
  return context_.scripts.key_prefix() + "{" + tag_of(ticket) + "}:" + std::string(digits, kHash);
}

std::string SharedAnswers::keys_of(const Ticket& ticket) const {
  return context_.scripts.key_prefix() + "{" + tag_of(ticket) + "}:keys";
}

Connection* SharedAnswers::connection_for(const Ticket& ticket, Directory& directory, Node*& node) const {
  node = directory.node_for(directory.slotted() ? slot_of_tag(tag_of(ticket)) : std::uint16_t{0});
  const bool too_many = all_.size() - idle_.size() >= kMaxAsking;
  return node != nullptr && node->answering() && !too_many ? node->pick() : nullptr;
}

void SharedAnswers::send(Connection& connection, Node& node, Directory& directory, SteadyTime now, Begun done) {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Asking>(*this));
    idle_.push_back(all_.back().get());
  }
  Asking& asking = *idle_.back();
  idle_.pop_back();
  asking.done = std::move(done);
  asking.node = &node;
  asking.directory = &directory;
  connection.finish(asking, {.now = now, .deadline = now + context_.options.deadline});
}

void SharedAnswers::begin(const Ticket& ticket, std::size_t most, Directory& directory, SteadyTime now, Begun done) {
  Node* node = nullptr;
  Connection* const connection = connection_for(ticket, directory, node);
  if (connection == nullptr) return done(Found::unavailable, {});
  const auto bound = static_cast<std::int64_t>(std::max<std::size_t>(1, most / kShards));
  CommandWriter(connection->start(), 9)
      .word("EVAL")
      .word(kBegin)
      .number(2)
      .word(key_of(ticket))
      .word(keys_of(ticket))
      .word(bytes_of(ticket.body))
      .word(nonce_of(ticket))
      .number(bound)
      .number(kRunning.count());
  send(*connection, *node, directory, now, std::move(done));
}

void SharedAnswers::finish(const Ticket& ticket, std::string_view answer, Duration delay, Duration keep,
                           Directory& directory, SteadyTime now) {
  if (answer.size() > kMaxAnswer) return forget(ticket, directory, now);
  Node* node = nullptr;
  Connection* const connection = connection_for(ticket, directory, node);
  if (connection == nullptr) return;  // it lapses
  const std::int64_t keep_ms = std::max<std::int64_t>(1, (delay + keep).count() / 1'000);
  CommandWriter(connection->start(), 10)
      .word("EVAL")
      .word(kFinish)
      .number(2)
      .word(key_of(ticket))
      .word(keys_of(ticket))
      .word(bytes_of(ticket.body))
      .word(nonce_of(ticket))
      .word(answer)
      .number(delay.count())
      .number(keep_ms);
  send(*connection, *node, directory, now, {});
}

void SharedAnswers::forget(const Ticket& ticket, Directory& directory, SteadyTime now) {
  Node* node = nullptr;
  Connection* const connection = connection_for(ticket, directory, node);
  if (connection == nullptr) return;  // it lapses
  CommandWriter(connection->start(), 6)
      .word("EVAL")
      .word(kForget)
      .number(2)
      .word(key_of(ticket))
      .word(keys_of(ticket))
      .word(nonce_of(ticket));
  send(*connection, *node, directory, now, {});
}

void SharedAnswers::Asking::end(Found found, std::string_view answer) {
  const Begun waiting = std::exchange(done, {});
  owner_.idle_.push_back(this);
  if (waiting) waiting(found, answer);
}

void SharedAnswers::Asking::on_reply(Reply reply, SteadyTime) {
  if (is_error(reply[0], "MOVED") || is_error(reply[0], "ASK")) directory->doubt(*node);
  if (!done || reply[0].kind != ReplyKind::array || reply.size() < 2 || reply[1].kind != ReplyKind::integer ||
      reply[1].number < 0 || reply[1].number > static_cast<std::int64_t>(Found::full)) {
    return end(Found::unavailable);
  }
  const auto found = static_cast<Found>(reply[1].number);
  if (found != Found::replayed) return end(found);
  if (reply.size() != 3 || reply[2].kind != ReplyKind::text) return end(Found::unavailable);
  end(found, reply[2].text);
}

void SharedAnswers::Asking::on_lost(FailureKind, SteadyTime) { end(Found::unavailable); }

}  // namespace weir::redis
