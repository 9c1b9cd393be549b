#include "stores/redis/connection.h"

#include <algorithm>
#include <utility>

#include "stores/redis/jitter.h"

namespace weir::redis {

using std::chrono::steady_clock;

namespace {

// What an error in answer to a command of the greeting means.
Trouble greeting_trouble(Greeting::Step step, const ReplyItem& error, std::string_view secret) {
  using Step = Greeting::Step;
  Trouble trouble = trouble_of(error);
  if (step == Step::log_in) {
    // A server that is starting answers AUTH like everything else; that does not make the password wrong.
    if (trouble.cause == Cause::permission || trouble.cause == Cause::other) trouble.cause = Cause::auth;
    trouble.said = shown_without(error.text, secret);
  } else if (step == Step::select && trouble.cause == Cause::other) {
    trouble.cause = Cause::database;
  }
  return trouble;
}

}  // namespace

void greet(Greeting& greeting, const std::string& user, const std::string& password, int database) {
  if (!password.empty() || !user.empty()) {
    CommandWriter auth(greeting.commands, user.empty() ? 2 : 3);
    auth.word("AUTH");
    if (!user.empty()) auth.word(user);
    auth.word(password);
    greeting.steps.push_back(Greeting::Step::log_in);
    greeting.secret = password;
  }
  if (database != 0) {
    CommandWriter(greeting.commands, 2).word("SELECT").number(database);
    greeting.steps.push_back(Greeting::Step::select);
  }
}

Connection::Connection(boost::asio::io_context& loop, std::shared_ptr<TlsSetup> tls, const Greeting& greeting,
                       Timeouts timeouts, std::uint64_t seed, ConnectionOwner& owner)
    : loop_(loop),
      tls_(std::move(tls)),
      greeting_(greeting),
      timeouts_(timeouts),
      owner_(owner),
      random_(seed),
      timer_(loop, [this] { on_timer(); }),
      turn_(loop, [this] { flush(); }) {}

Connection::~Connection() { close(); }

void Connection::open(const Address& address) {
  close();
  address_ = address;
  retry_delay_ = kFirstRetry;
  connect();
}

void Connection::reopen() { open(Address(address_)); }

void Connection::close() {
  drop_wire();
  state_ = State::closed;
  timer_.cancel();
  fail_waiting(FailureKind::lost);
}

void Connection::drop_wire() {
  if (wire_) wire_->close();
  wire_.reset();
  writing_ = false;
  greeting_sent_ = false;
  greeted_ = 0;
  queued_.clear();
  reader_.clear();
}

void Connection::connect() {
  drop_wire();
  state_ = State::opening;
  give_up_at_ = steady_clock::now() + timeouts_.connect;
  watch(give_up_at_);
  wire_ = Wire::make(loop_, tls_, *this);
  wire_->open(address_);
}

void Connection::on_open() {
  wire_->start_reading();
  greeting_sent_ = true;
  std::string hello = greeting_.commands;
  if (!hello.empty()) writing_ = !wire_->write(hello);
  if (greeting_.steps.empty()) become_ready();
}

void Connection::become_ready() {
  state_ = State::ready;
  ready_since_ = steady_clock::now();
  flush();
  owner_.on_ready();
}

void Connection::finish(ReplyHandler& handler, const Sending& sending) {
  // What waits for the connection first measures the connecting and not the server.
  const std::uint32_t place = ready() ? sending.place : 0;
  pending_.push_back({&handler, sending.now, sending.deadline, place, sending.skipped});
  watch(sending.deadline);
  if (!ready() || writing_) return;
  if (queued_.size() >= kEagerBytes) return flush();
  turn_.ask();
}

void Connection::flush() {
  if (!ready() || writing_ || queued_.empty()) return;
  writing_ = !wire_->write(queued_);
}

void Connection::on_written() {
  writing_ = false;
  flush();
}

void Connection::on_read(std::string_view bytes) {
  reader_.add(bytes);
  const SteadyTime now = steady_clock::now();
  const Wire* const wire = wire_.get();
  last_read_ = now;
  while (true) {
    const ReplyReader::Progress progress = reader_.next();
    if (progress == ReplyReader::Progress::incomplete) return owner_.on_caught_up(now);
    if (progress == ReplyReader::Progress::broken) {
      return break_off(FailureKind::lost, {Cause::protocol, "what the server sends is not the Redis protocol"});
    }
    if (state_ == State::opening) {
      if (!take_greeting(reader_.reply())) return;
    } else {
      take_reply(reader_.reply(), now);
    }
    // A handler may have closed this connection, or closed it and opened another.
    if (wire_.get() != wire) return;
  }
}

bool Connection::take_greeting(Reply reply) {
  using Step = Greeting::Step;
  const Step step = greeting_.steps[greeted_];
  if (step != Step::anything && reply[0].kind == ReplyKind::error) {
    break_off(FailureKind::connect, greeting_trouble(step, reply[0], greeting_.secret));
    return false;
  }
  if (step == Step::role && (reply.size() < 2 || reply[1].text != "master")) {
    const std::string role = reply.size() < 2 ? "unknown" : shown(reply[1].text);
    break_off(FailureKind::connect, {Cause::not_master, "the server is not a master, its role is " + role});
    return false;
  }
  if (++greeted_ == greeting_.steps.size()) become_ready();
  return true;
}

void Connection::take_reply(Reply reply, SteadyTime now) {
  if (pending_.empty()) {
    if (!owner_.on_message(reply)) {
      break_off(FailureKind::lost, {Cause::protocol, "an answer without a command"});
    }
    return;
  }
  if (pending_.front().skipped > 0) {
    --pending_.front().skipped;
    return;
  }
  const Pending first = pending_.front();
  pending_.pop_front();
  if (first.place > 0) {
    owner_.on_answered(first.place, std::chrono::duration_cast<std::chrono::microseconds>(now - first.sent));
  }
  if (first.handler != nullptr) first.handler->on_reply(reply, now);
}

void Connection::watch(SteadyTime deadline) {
  if (!timer_.armed() || deadline < timer_.at()) timer_.arm(deadline);
}

// The timer is not moved for each command: it goes off for the earliest deadline it knew, finds that command answered
// in most cases, and is set to the earliest of those that wait now.
void Connection::on_timer() {
  if (state_ == State::waiting) return connect();
  const SteadyTime now = steady_clock::now();
  if (state_ == State::ready) return look_for_late(now);
  if (now >= give_up_at_) {
    return break_off(FailureKind::connect,
                     greeting_sent_ ? Trouble{Cause::no_reply, "connected, but no reply in time"} : wire_->stuck());
  }
  watch(give_up_at_);
  const auto overdue = [now](const Pending& each) { return each.deadline <= now; };
  if (std::any_of(pending_.begin(), pending_.end(), overdue)) {
    // Nothing was sent, so the connection may live; what waited for it is dropped together.
    queued_.clear();
    return fail_waiting(FailureKind::connect);
  }
  for (const Pending& each : pending_) watch(each.deadline);
}

void Connection::look_for_late(SteadyTime now) {
  if (pending_.empty()) return;
  bool overdue = false;
  SteadyTime next = SteadyTime::max();
  for (const Pending& each : pending_) {
    if (each.handler == nullptr || each.deadline <= now) {
      overdue = true;
    } else {
      next = std::min(next, each.deadline);
    }
  }
  if (!overdue) return watch(next);
  // A busy loop finds its timer before bytes that have long arrived; they come first.
  if (wire_->readable() && ++reads_first_ < kMostReadsFirst) return watch(now);
  reads_first_ = 0;
  const SteadyTime silent_at = std::max(last_read_, pending_.front().sent) + timeouts_.silence;
  if (now >= silent_at && !wire_->readable()) {
    return break_off(FailureKind::timeout,
                     {Cause::no_reply, "no reply for " + std::to_string(timeouts_.silence.count()) + " ms"});
  }
  watch(std::max(std::min(next, silent_at), now + kLateTick));
  // Set before the first handler is called: what a handler begins is queued here.
  std::vector<ReplyHandler*> late;
  for (Pending& each : pending_) {
    if (each.handler != nullptr && each.deadline <= now) late.push_back(std::exchange(each.handler, nullptr));
  }
  for (ReplyHandler* const handler : late) handler->on_lost(FailureKind::late, now);
}

void Connection::on_broken(const Trouble& trouble) { break_off(FailureKind::lost, trouble); }

void Connection::break_off(FailureKind kind, const Trouble& trouble) {
  const bool was_ready = ready();
  if (!was_ready) kind = FailureKind::connect;
  std::deque<Pending> failed;
  failed.swap(pending_);
  timer_.cancel();
  if (was_ready) retry_delay_ = kFirstRetry;
  // One that has served for a while is replaced at once, before anyone asks; one that breaks soon must wait.
  if (was_ready && steady_clock::now() - ready_since_ >= kLongestRetry) {
    connect();
  } else {
    drop_wire();
    state_ = State::waiting;
    timer_.arm_after(jittered(retry_delay_, random_));
    retry_delay_ = std::min(retry_delay_ * 2, kLongestRetry);
  }
  owner_.on_trouble(trouble, was_ready);
  fail(failed, kind);
  owner_.on_down();
}

void Connection::fail_waiting(FailureKind kind) {
  std::deque<Pending> failed;
  failed.swap(pending_);
  fail(failed, kind);
}

void Connection::fail(const std::deque<Pending>& failed, FailureKind kind) {
  if (failed.empty()) return;
  const SteadyTime now = steady_clock::now();
  for (const Pending& each : failed) {
    if (each.handler != nullptr) each.handler->on_lost(kind, now);
  }
}

}  // namespace weir::redis
