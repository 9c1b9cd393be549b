#include "stores/redis/connection.h"

#include <algorithm>
#include <utility>

#include "stores/redis/jitter.h"

namespace weir::redis {

using std::chrono::steady_clock;

Connection::Connection(boost::asio::io_context& loop, std::shared_ptr<TlsSetup> tls, const Greeting& greeting,
                       std::chrono::milliseconds connect_timeout, std::uint64_t seed, ConnectionOwner& owner)
    : loop_(loop),
      tls_(std::move(tls)),
      greeting_(greeting),
      connect_timeout_(connect_timeout),
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
  greeted_ = 0;
  queued_.clear();
  reader_.clear();
}

void Connection::connect() {
  drop_wire();
  state_ = State::opening;
  give_up_at_ = steady_clock::now() + connect_timeout_;
  watch(give_up_at_);
  wire_ = Wire::make(loop_, tls_, *this);
  wire_->open(address_);
}

void Connection::on_open() {
  wire_->start_reading();
  std::string hello = greeting_.commands;
  if (!hello.empty()) writing_ = !wire_->write(hello);
  if (greeting_.replies.empty()) {
    state_ = State::ready;
    retry_delay_ = kFirstRetry;
    flush();
    owner_.on_ready();
  }
}

void Connection::finish(ReplyHandler& handler, SteadyTime deadline, std::uint8_t skipped) {
  pending_.push_back({&handler, deadline, skipped});
  watch(deadline);
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
  while (true) {
    const ReplyReader::Progress progress = reader_.next();
    if (progress == ReplyReader::Progress::incomplete) return;
    if (progress == ReplyReader::Progress::broken) return break_off(FailureKind::lost, "not RESP");
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
  using Expect = Greeting::Expect;
  const Expect expected = greeting_.replies[greeted_];
  if (expected == Expect::success && reply[0].kind == ReplyKind::error) {
    break_off(FailureKind::connect, std::string(reply[0].text));
    return false;
  }
  if (expected == Expect::role_master && (reply.size() < 2 || reply[1].text != "master")) {
    break_off(FailureKind::connect, "the server is not a master");
    return false;
  }
  if (++greeted_ < greeting_.replies.size()) return true;
  state_ = State::ready;
  retry_delay_ = kFirstRetry;
  flush();
  owner_.on_ready();
  return true;
}

void Connection::take_reply(Reply reply, SteadyTime now) {
  if (pending_.empty()) {
    if (!owner_.on_message(reply)) break_off(FailureKind::lost, "an answer to no question");
    return;
  }
  Pending& first = pending_.front();
  if (first.skipped > 0) {
    --first.skipped;
    return;
  }
  ReplyHandler* const handler = first.handler;
  pending_.pop_front();
  handler->on_reply(reply, now);
}

void Connection::watch(SteadyTime deadline) {
  if (!timer_.armed() || deadline < timer_.at()) timer_.arm(deadline);
}

// The timer is not moved for each command: it goes off for the earliest deadline it knew, finds that command answered
// in most cases, and is set to the earliest of those that wait now.
void Connection::on_timer() {
  if (state_ == State::waiting) return connect();
  const SteadyTime now = steady_clock::now();
  if (state_ == State::opening && now >= give_up_at_)
    return break_off(FailureKind::connect, "connecting took too long");
  if (pending_.empty()) {
    if (state_ == State::opening) watch(give_up_at_);
    return;
  }
  const auto earliest = std::min_element(pending_.begin(), pending_.end(),
                                         [](const Pending& a, const Pending& b) { return a.deadline < b.deadline; });
  if (earliest->deadline > now) {
    watch(state_ == State::opening ? std::min(give_up_at_, earliest->deadline) : earliest->deadline);
  } else if (state_ == State::opening) {
    // Nothing was sent, so the connection may live; what waited for it is dropped together.
    watch(give_up_at_);
    queued_.clear();
    fail_waiting(FailureKind::connect);
  } else {
    break_off(FailureKind::timeout, "no answer before the deadline");
  }
}

void Connection::on_broken(std::string_view why) { break_off(FailureKind::lost, why); }

void Connection::break_off(FailureKind kind, std::string_view why) {
  const std::string reason(why);  // may point into the reader
  if (state_ == State::opening) kind = FailureKind::connect;
  drop_wire();
  state_ = State::waiting;
  timer_.cancel();
  timer_.arm_after(jittered(retry_delay_, random_));
  retry_delay_ = std::min(retry_delay_ * 2, kLongestRetry);
  fail_waiting(kind);
  owner_.on_down(reason);
}

void Connection::fail_waiting(FailureKind kind) {
  if (pending_.empty()) return;
  const SteadyTime now = steady_clock::now();
  std::deque<Pending> failed;
  failed.swap(pending_);
  for (const Pending& each : failed) each.handler->on_lost(kind, now);
}

}  // namespace weir::redis
