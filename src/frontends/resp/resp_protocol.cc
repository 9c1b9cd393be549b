#include "frontends/resp/resp_protocol.h"

#include <algorithm>
#include <utility>

#include "weir/ask.h"

namespace weir::resp {
namespace {

constexpr std::size_t kMaxQuoted = 128;
// More than this of a transaction is reserved (Link::reserve).
constexpr std::size_t kSmallTransaction = std::size_t{16} << 10;
constexpr std::string_view kOutOfMemory = "OOM the server is short of memory; try again later";

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
  return "wrong number of arguments for '" + std::string(command.name) + "' command";
}

}  // namespace

RespProtocol::RespProtocol(transport::Link& link, Limiter& limiter, const RespOptions& options, std::uint64_t id,
                           std::shared_ptr<transport::RequestIdentity> identity)
    : link_(link),
      limiter_(limiter),
      ad_hoc_(*limiter.ad_hoc()),
      identity_(std::move(identity)),
      session_(options, id, link.peer().address, link.peer().port) {}

std::size_t RespProtocol::on_bytes(std::string_view bytes) {
  if (login_held_) return 0;
  std::size_t at = 0;
  while (at < bytes.size() && !session_.leaving() && !link_.congested()) {
    if (replies_.full()) {
      paused_ = true;
      link_.pause();
      break;
    }
    if (transaction_.executing()) {
      perform(transaction_.next());
      if (login_held_) break;
      transaction_.finish_one();
      if (transaction_.executing()) continue;
      at += exec_bytes_;
      if (draining_) session_.leave();
      continue;
    }
    const CommandReader::Found found = reader_.read(bytes.substr(at), session_.read_limits());
    if (found == CommandReader::Found::incomplete) break;
    if (found == CommandReader::Found::malformed) {
      refuse(reader_.complaint());
      break;
    }
    if (!reader_.arguments().empty()) perform(reader_.arguments());
    if (login_held_) break;
    if (transaction_.executing()) {
      exec_bytes_ = reader_.consumed();
    } else {
      at += reader_.consumed();
    }
  }
  // Whatever follows a farewell is not for us.
  if (session_.leaving()) at = bytes.size();
  partial_ = at < bytes.size();
  give_back_transaction();
  close_when_answered();
  return at;
}

void RespProtocol::perform(Words words) {
  const CommandSpec* const command = find_command(words[0]);
  if (command == nullptr && looks_like_http(words[0])) return session_.leave();
  if (!session_.admitted() && (command == nullptr || !command->before_auth)) {
    return answer([](ReplyWriter& reply) { reply.error("NOAUTH Authentication required."); });
  }
  if (command == nullptr) return reject(unknown_command(words));
  const bool queueing = transaction_.open() && !is_immediate(command->id);
  if (command->id == CommandId::throttle && !queueing) return throttle(words);
  if (!arity_fits(*command, words.size())) {
    if (command->id != CommandId::exec) return reject("ERR " + wrong_arity(*command));
    transaction_.discard();
    return reject("EXECABORT Transaction discarded because of: " + wrong_arity(*command));
  }
  if (queueing) return queue(words);
  if (Session::is_login(command->id, words) && hold_login()) return;
  switch (command->id) {
    case CommandId::check:
    case CommandId::refund:
      return check(command->id == CommandId::refund ? Action::refund : Action::take, words);
    case CommandId::report:
      return report(words);
    case CommandId::acquire:
      return lease(LeaseQuestion::Verb::acquire, words);
    case CommandId::renew:
      return lease(LeaseQuestion::Verb::renew, words);
    case CommandId::release:
      return lease(LeaseQuestion::Verb::release, words);
    case CommandId::reserve:
      return reserve(ReservationQuestion::Verb::reserve, words);
    case CommandId::commit:
      return reserve(ReservationQuestion::Verb::commit, words);
    case CommandId::cancel:
      return reserve(ReservationQuestion::Verb::release, words);
    case CommandId::multi:
      return multi();
    case CommandId::exec:
      return exec();
    case CommandId::discard:
      return discard();
    case CommandId::reset:
      transaction_.discard();
      break;
    default:
      break;
  }
  replies_.answer(link_.output(), session_.version_of_answer(command->id, words),
                  [&](ReplyWriter& reply) { session_.answer(command->id, words, reply); });
}

// True: the login is not to be checked now, or not at all.
bool RespProtocol::hold_login() {
  const RespOptions& options = session_.options();
  if (options.logins == nullptr || std::exchange(login_due_, false)) return false;
  const transport::LoginGuard::Turn turn =
      options.logins->ask(options.listener, transport::LoginKind::password, link_.peer().address);
  if (turn.refused) {
    answer([](ReplyWriter& reply) { reply.error("ERR too many failed logins from this address; try again later"); });
    session_.leave();
    return true;
  }
  if (turn.wait == Duration(0)) return false;
  login_held_ = true;
  link_.pause();
  link_.after(turn.wait, [this] {
    login_held_ = false;
    login_due_ = true;
    link_.resume();
  });
  return true;
}

// A command that cannot be performed, or not even be queued.
void RespProtocol::reject(const std::string& error) {
  if (transaction_.open()) transaction_.abort();
  answer([&](ReplyWriter& reply) { reply.error(error); });
}

void RespProtocol::queue(Words words) {
  if (transaction_.add(words)) {
    const std::size_t held = transaction_.held_bytes();
    if (held <= kSmallTransaction || held <= reserved_ || link_.reserve(0, held)) {
      reserved_ = std::max(reserved_, held > kSmallTransaction ? held : 0);
      return answer([](ReplyWriter& reply) { reply.simple("QUEUED"); });
    }
    transaction_.abort();
    return answer([](ReplyWriter& reply) { reply.error(kOutOfMemory); });
  }
  answer([](ReplyWriter& reply) { reply.error("ERR the transaction is larger than 1 MiB; it is discarded"); });
}

void RespProtocol::multi() {
  if (transaction_.open()) {
    return answer([](ReplyWriter& reply) { reply.error("ERR MULTI calls can not be nested"); });
  }
  transaction_.begin();
  answer([](ReplyWriter& reply) { reply.simple("OK"); });
}

void RespProtocol::exec() {
  if (!transaction_.open()) return answer([](ReplyWriter& reply) { reply.error("ERR EXEC without MULTI"); });
  if (transaction_.aborted()) {
    transaction_.discard();
    return answer(
        [](ReplyWriter& reply) { reply.error("EXECABORT Transaction discarded because of previous errors."); });
  }
  answer([&](ReplyWriter& reply) { reply.array(transaction_.size()); });
  transaction_.size() > 0 ? transaction_.execute() : transaction_.discard();
}

void RespProtocol::discard() {
  if (!transaction_.open()) return answer([](ReplyWriter& reply) { reply.error("ERR DISCARD without MULTI"); });
  transaction_.discard();
  answer([](ReplyWriter& reply) { reply.simple("OK"); });
}

void RespProtocol::throttle(Words words) {
  const Result<AdHocCharge> charge = throttle_.read(words);
  if (!charge.ok()) {
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + charge.failure().message); });
  }
  const std::int64_t limit = charge.value().allowance->burst;
  const auto now = [&](const ChargeOutcome& outcome) {
    answer([&](ReplyWriter& reply) { Throttle::write(reply, limit, outcome); });
  };
  ask(ad_hoc_, charge.value(), now, [&] {
    return [this, limit, ticket = replies_.owe(session_.version()), held = link_.hold()](const ChargeOutcome& outcome) {
      answer_later(ticket, [limit, outcome](ReplyWriter& reply) { Throttle::write(reply, limit, outcome); });
    };
  });
}

void RespProtocol::report(Words words) {
  const Result<ReportCommand> report = ReportCommand::read(words);
  if (!report.ok()) {
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + report.failure().message); });
  }
  check(report.value().success ? Action::report_success : Action::report_failure, report.value().rest,
        report.value().duration);
}

void RespProtocol::check(Action action, Words words, Duration took) {
  Result<Request> request = check_.read(words, action == Action::take);
  if (!request.ok()) {
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + request.failure().message); });
  }
  if (identity_ != nullptr) {
    if (const auto refusal = transport::identify(*identity_, request.value())) {
      const std::string_view code = refusal->malformed ? "ERR " : "NOPERM ";
      return answer([&](ReplyWriter& reply) { reply.error(std::string(code) + refusal->message("", "")); });
    }
  }
  if (took > Duration::zero()) {
    limiter_.note_duration(took);
    if (work_ != nullptr) work_->note_work(request.value(), took, action == Action::report_success);
  }
  const auto now = [&](const Decision& decision) {
    answer([&](ReplyWriter& reply) { CheckCommand::write(reply, decision); });
  };
  ask(limiter_, action, request.value(), now, [&] {
    return [this, ticket = replies_.owe(session_.version()), held = link_.hold()](const Decision& decision) {
      answer_later(ticket, [decision](ReplyWriter& reply) { CheckCommand::write(reply, decision); });
    };
  });
}

void RespProtocol::lease(LeaseQuestion::Verb verb, Words words) {
  LeaseLimiter* const leases = limiter_.leases();
  Result<LeaseQuestion> question = lease_.read(verb, words);
  if (!question.ok() || leases == nullptr) {
    const std::string what = question.ok() ? "this limiter does not support leases" : question.failure().message;
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + what); });
  }
  if (identity_ != nullptr && verb == LeaseQuestion::Verb::acquire) {
    if (const auto refusal = transport::identify(*identity_, question.value().request)) {
      const std::string_view code = refusal->malformed ? "ERR " : "NOPERM ";
      return answer([&](ReplyWriter& reply) { reply.error(std::string(code) + refusal->message("", "")); });
    }
  }
  const auto now = [&](const LeaseAnswer& given) {
    answer([&](ReplyWriter& reply) { LeaseCommand::write(reply, verb, given); });
  };
  ask(*leases, question.value(), now, [&] {
    return [this, verb, ticket = replies_.owe(session_.version()), held = link_.hold()](const LeaseAnswer& given) {
      answer_later(ticket, [verb, given](ReplyWriter& reply) { LeaseCommand::write(reply, verb, given); });
    };
  });
}

void RespProtocol::reserve(ReservationQuestion::Verb verb, Words words) {
  ReservationLimiter* const reservations = limiter_.reservations();
  Result<ReservationQuestion> question = reserve_.read(verb, words);
  if (!question.ok() || reservations == nullptr) {
    const std::string what = question.ok() ? "this store does not support reservations" : question.failure().message;
    return answer([&](ReplyWriter& reply) { reply.error("ERR " + what); });
  }
  if (identity_ != nullptr && verb == ReservationQuestion::Verb::reserve) {
    if (const auto refusal = transport::identify(*identity_, question.value().request)) {
      const std::string_view code = refusal->malformed ? "ERR " : "NOPERM ";
      return answer([&](ReplyWriter& reply) { reply.error(std::string(code) + refusal->message("", "")); });
    }
  }
  const auto now = [&](const ReservationAnswer& given) {
    answer([&](ReplyWriter& reply) { ReserveCommand::write(reply, verb, given); });
  };
  ask(*reservations, question.value(), now, [&] {
    return
        [this, verb, ticket = replies_.owe(session_.version()), held = link_.hold()](const ReservationAnswer& given) {
          answer_later(ticket, [verb, given](ReplyWriter& reply) { ReserveCommand::write(reply, verb, given); });
        };
  });
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

void RespProtocol::on_shortage() {
  answer([](ReplyWriter& reply) { reply.error(kOutOfMemory); });
}

// What a transaction held is gone when it is over.
void RespProtocol::give_back_transaction() {
  if (reserved_ == 0 || transaction_.held_bytes() > kSmallTransaction) return;
  reserved_ = 0;
  static_cast<void>(link_.reserve(0, 0));
}

void RespProtocol::on_drain() {
  draining_ = true;
  // An array of answers that has begun comes to its end.
  if (transaction_.executing()) return;
  session_.leave();
  close_when_answered();
}

}  // namespace weir::resp
