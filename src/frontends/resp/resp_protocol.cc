#include "frontends/resp/resp_protocol.h"

#include <utility>

namespace weir::frontends::resp {
namespace {

constexpr std::size_t kMaxQuoted = 128;

// A browser that was talked into sending HTTP to this port must not get its body read as commands.
bool looks_like_http(std::string_view word) { return is_word(word, "post") || is_word(word, "host:"); }

std::string unknown_command(std::span<const std::string_view> words) {
  std::string message = "ERR unknown command '";
  message.append(words[0].substr(0, kMaxQuoted)).append("', with args beginning with: ");
  for (const std::string_view word : words.subspan(1)) {
    if (message.size() >= 2 * kMaxQuoted) break;
    message.append("'").append(word.substr(0, kMaxQuoted)).append("' ");
  }
  return message;
}

std::string wrong_arity(const CommandSpec& command) {
  return "ERR wrong number of arguments for '" + std::string(command.name) + "' command";
}

}  // namespace

RespProtocol::RespProtocol(Link& link, Limiter& limiter, const RespOptions& options, std::uint64_t id)
    : link_(link),
      limiter_(limiter),
      immediate_(limiter.immediate()),
      session_(options, id, link.peer().address, link.peer().port) {}

std::size_t RespProtocol::on_bytes(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && !session_.leaving() && !link_.congested()) {
    if (replies_.full()) {
      paused_ = true;
      link_.pause();
      break;
    }
    const CommandReader::Found found = reader_.read(bytes.substr(at), session_.read_limits());
    if (found == CommandReader::Found::incomplete) break;
    if (found == CommandReader::Found::malformed) {
      refuse(reader_.complaint());
      break;
    }
    at += reader_.consumed();
    if (!reader_.arguments().empty()) perform(reader_.arguments());
  }
  // Whatever follows a farewell is not for us.
  if (session_.leaving()) at = bytes.size();
  partial_ = at < bytes.size();
  close_when_answered();
  return at;
}

void RespProtocol::perform(Words words) {
  const CommandSpec* const command = find_command(words[0]);
  if (command == nullptr) {
    if (looks_like_http(words[0])) return session_.leave();
    if (session_.admitted()) return answer([&](ReplyWriter& reply) { reply.error(unknown_command(words)); });
  }
  if (!session_.admitted() && (command == nullptr || !command->before_auth)) {
    return answer([](ReplyWriter& reply) { reply.error("NOAUTH Authentication required."); });
  }
  if (command->id == CommandId::throttle) return throttle(words);
  if (!arity_fits(*command, words.size())) {
    return answer([&](ReplyWriter& reply) { reply.error(wrong_arity(*command)); });
  }
  if (command->id == CommandId::check || command->id == CommandId::refund) return check(*command, words);
  replies_.answer(link_.output(), session_.version_of_answer(command->id, words),
                  [&](ReplyWriter& reply) { session_.answer(command->id, words, reply); });
}

void RespProtocol::throttle(Words words) {
  const Result<AdHocCharge> charge = throttle_.read(words);
  if (!charge.ok()) {
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + charge.failure().message); });
  }
  const std::int64_t limit = charge.value().allowance->burst;
  if (immediate_) {
    const ChargeOutcome outcome = limiter_.charge(charge.value());
    return answer([&](ReplyWriter& reply) { Throttle::write(reply, limit, outcome); });
  }
  const ReplyQueue::Ticket ticket = replies_.owe(session_.version());
  limiter_.charge(charge.value(), [this, ticket, limit, held = link_.hold()](const ChargeOutcome& outcome) {
    answer_later(ticket, [limit, outcome](ReplyWriter& reply) { Throttle::write(reply, limit, outcome); });
  });
}

void RespProtocol::check(const CommandSpec& command, Words words) {
  const bool refund = command.id == CommandId::refund;
  const Result<Request> request = check_.read(words, !refund);
  if (!request.ok()) {
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + request.failure().message); });
  }
  if (immediate_) {
    const Decision decision = refund ? limiter_.refund(request.value()) : limiter_.check(request.value());
    return answer([&](ReplyWriter& reply) { CheckCommand::write(reply, decision); });
  }
  const ReplyQueue::Ticket ticket = replies_.owe(session_.version());
  Limiter::Completion done = [this, ticket, held = link_.hold()](const Decision& decision) {
    answer_later(ticket, [decision](ReplyWriter& reply) { CheckCommand::write(reply, decision); });
  };
  refund ? limiter_.refund(request.value(), std::move(done)) : limiter_.check(request.value(), std::move(done));
}

template <typename Write>
void RespProtocol::answer(Write&& write) {
  replies_.answer(link_.output(), session_.version(), std::forward<Write>(write));
}

// A completion, on whichever thread. Its caller holds the link, and with it this protocol.
template <typename Write>
void RespProtocol::answer_later(ReplyQueue::Ticket ticket, Write&& write) {
  if (!link_.on_loop()) {
    return link_.post([this, ticket, held = link_.hold(), write] { answer_later(ticket, write); });
  }
  replies_.fill(ticket, write);
  if (link_.closed()) return;
  replies_.release(link_.output());
  link_.flush();
  close_when_answered();
  if (paused_ && replies_.roomy()) {
    paused_ = false;
    link_.resume();
  }
}

void RespProtocol::refuse(std::string_view complaint) {
  answer([&](ReplyWriter& reply) { reply.error("ERR Protocol error: " + std::string(complaint)); });
  session_.leave();
}

void RespProtocol::close_when_answered() {
  if (session_.leaving() && replies_.empty()) link_.close();
}

void RespProtocol::on_timeout() {
  answer([](ReplyWriter& reply) { reply.error("ERR Protocol error: the command did not end in time"); });
}

void RespProtocol::on_drain() {
  session_.leave();
  close_when_answered();
}

}  // namespace weir::frontends::resp
