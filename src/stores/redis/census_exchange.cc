#include "stores/redis/census_exchange.h"

#include <algorithm>

#include "base/ascii.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

// KEYS[1] the set; ARGV: pairs of a subject and how long it lives, in microseconds. Answers how many the set has.
constexpr std::string_view kScript = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 1, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], now + ARGV[i + 1], ARGV[i])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] then
  redis.call('PEXPIREAT', KEYS[1], math.ceil(last[2] / 1000))
end
return redis.call('ZCARD', KEYS[1])
)lua";

void write_command(std::string& out, const std::string& key, std::span<const SubjectCensus::News::Subject> subjects) {
  CommandWriter command(out, 4 + 2 * subjects.size());
  command.word("EVAL").word(kScript).number(1).word(key);
  for (const SubjectCensus::News::Subject& each : subjects) {
    char digits[16];
    base::write_hex(digits, each.id);
    command.word({digits, sizeof digits}).number(each.lives_us);
  }
}

}  // namespace

void CensusExchange::start(std::uint32_t number, Directory& directory, SteadyTime now) {
  const SubjectCensus::News news = census_.news(number, now);
  const std::string tag = "subjects." + news.rule;
  Node* const node = directory.node_for(directory.slotted() ? slot_of_tag(tag) : std::uint16_t{0});
  Connection* const connection = node != nullptr && node->answering() ? node->pick() : nullptr;
  if (connection == nullptr) return census_.failed(number, now);
  const std::string key = context_.scripts.key_prefix() + "{" + tag + "}:" + std::to_string(news.level);
  const std::span<const SubjectCensus::News::Subject> all(news.subjects);
  std::size_t written = 0;
  std::uint8_t commands = 0;
  do {
    const std::size_t count = std::min(kSubjectsPerCommand, all.size() - written);
    write_command(connection->start(), key, all.subspan(written, count));
    written += count;
    ++commands;
  } while (written < all.size());
  static_assert(SubjectCensus::kMaxNews / kSubjectsPerCommand < 255);
  Telling& telling = acquire();
  telling.number = number;
  telling.node = node;
  telling.directory = &directory;
  // Only the last answer counts.
  connection->finish(telling, {.now = now,
                               .deadline = now + std::max(context_.options.deadline, kLeastDeadline),
                               .skipped = static_cast<std::uint8_t>(commands - 1)});
}

CensusExchange::Telling& CensusExchange::acquire() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Telling>(*this));
    return *all_.back();
  }
  Telling* const telling = idle_.back();
  idle_.pop_back();
  return *telling;
}

void CensusExchange::Telling::on_reply(Reply reply, SteadyTime now) {
  owner_.idle_.push_back(this);
  if (reply[0].kind == ReplyKind::integer && reply[0].number >= 0) {
    return owner_.census_.told(number, reply[0].number, now);
  }
  owner_.census_.failed(number, now);
  if (is_error(reply[0], "MOVED") || is_error(reply[0], "ASK")) directory->doubt(*node);
}

void CensusExchange::Telling::on_lost(FailureKind, SteadyTime now) {
  owner_.idle_.push_back(this);
  owner_.census_.failed(number, now);
}

}  // namespace weir::redis
