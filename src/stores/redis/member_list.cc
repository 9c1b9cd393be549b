#include "stores/redis/member_list.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

constexpr std::string_view kTag = "synced";

// KEYS[1] the list; ARGV: node, number of the beat, weight, parts that it uses, how long it lives in microseconds, most
// nodes. Answers the parts that it may use from now on, and how many nodes live. As synced::MemberList::beat() does it.
constexpr std::string_view kBeat = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local id, number, weight, held, ttl = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
local all, others, nodes, known, learns = weight, 0, 0, nil, 0
local list = redis.call('HGETALL', KEYS[1])
for i = 1, #list, 2 do
  if list[i] == 'learns' then
    learns = list[i + 1] + 0
  else
    local last, parts, used, ends = list[i + 1]:match('^(%d+) (%d+) (%d+) (%d+)$')
    if ends + 0 <= now then
      redis.call('HDEL', KEYS[1], list[i])
    elseif list[i] == id then
      known = last + 0
      nodes = nodes + 1
    else
      nodes = nodes + 1
      all = all + parts
      if used + 0 > 0 then
        others = others + parts / used
      end
    end
  end
end
if (known and known >= number) or (not known and nodes >= ARGV[6] + 0) then
  return { 0, nodes }
end
if nodes == 0 then
  learns = now + ttl
  redis.call('HSET', KEYS[1], 'learns', string.format('%.0f', learns))
end
local granted, may_use = held, held
if held > 0 and all >= held then
  granted = all
elseif now >= learns and others + weight / all <= 1 + 1e-12 then
  granted, may_use = all, all
end
redis.call('HSET', KEYS[1], id, string.format('%.0f %.0f %.0f %.0f', number, weight, may_use, now + ttl))
redis.call('PEXPIRE', KEYS[1], math.ceil(ttl / 1000))
return { granted, known and nodes or nodes + 1 }
)lua";

std::string id_text(std::uint64_t id) {
  char digits[16];
  base::write_hex(digits, id);
  return {digits, sizeof digits};
}

}  // namespace

std::string MemberExchange::key() const { return context_.scripts.key_prefix() + "{" + std::string(kTag) + "}:nodes"; }

Connection* MemberExchange::connection_for(Directory& directory, Node*& node) const {
  node = directory.node_for(directory.slotted() ? slot_of_tag(kTag) : std::uint16_t{0});
  return node != nullptr && node->answering() ? node->pick() : nullptr;
}

void MemberExchange::beat(const MemberBeat& beat, Directory& directory, SteadyTime now, Answered done) {
  if (asking_.busy) return;
  Connection* const connection = connection_for(directory, asking_.node);
  if (connection == nullptr) return;
  CommandWriter(connection->start(), 10)
      .word("EVAL")
      .word(kBeat)
      .number(1)
      .word(key())
      .word(id_text(beat.id))
      .number(static_cast<std::int64_t>(beat.number))
      .number(beat.weight)
      .number(beat.held)
      .number(beat.ttl.count())
      .number(kMaxMembers);
  asking_.done = std::move(done);
  asking_.directory = &directory;
  asking_.busy = true;
  connection->finish(asking_, {.now = now, .deadline = now + std::max(context_.options.deadline, kLeastDeadline)});
}

void MemberExchange::Asking::on_reply(Reply reply, SteadyTime) {
  busy = false;
  const Answered answered = std::exchange(done, nullptr);
  if (is_error(reply[0], "MOVED") || is_error(reply[0], "ASK")) return directory->doubt(*node);
  if (!answered || reply.size() < 3) return;
  for (const ReplyItem& each : reply.subspan(1, 2)) {
    if (each.kind != ReplyKind::integer || each.number < 0 || each.number > UINT32_MAX) return;
  }
  answered({static_cast<std::uint32_t>(reply[1].number), static_cast<std::uint32_t>(reply[2].number)});
}

void MemberExchange::Asking::on_lost(FailureKind, SteadyTime) {
  busy = false;
  done = nullptr;
}

}  // namespace weir::redis
