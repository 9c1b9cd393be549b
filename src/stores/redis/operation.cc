#include "stores/redis/operation.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::redis {
namespace {

// deadline_exceeded: there was no answer, and it may have been charged.
Code code_of(FailureKind kind) {
  const bool unanswered = kind == FailureKind::timeout || kind == FailureKind::late || kind == FailureKind::lost;
  return unanswered ? Code::deadline_exceeded : Code::unavailable;
}

// "MOVED 3999 10.0.0.1:6381" and the same with ASK; an empty host means the host that was asked.
bool read_redirection(std::string_view text, const Node& asked, std::uint16_t& slot, Address& address) {
  const auto first = text.find(' ');
  const auto second = text.find(' ', first + 1);
  const auto colon = text.rfind(':');
  if (first == text.npos || second == text.npos || colon == text.npos || colon < second) return false;
  const std::string_view number = text.substr(first + 1, second - first - 1);
  const std::string_view port = text.substr(colon + 1);
  address.host = text.substr(second + 1, colon - second - 1);
  if (address.host.empty()) address.host = asked.address().host;
  return std::from_chars(number.data(), number.data() + number.size(), slot).ec == std::errc{} && slot < 16384 &&
         std::from_chars(port.data(), port.data() + port.size(), address.port).ec == std::errc{} && address.port != 0;
}

}  // namespace

void Part::reset() {
  which.clear();
  standing_.clear();
  node = nullptr;
  attempts_ = 0;
  reloaded_ = undoing_ = answered_ = charged_ = candidate_charged_ = leases_ = has_units_ = holds_ = record_ = lost_ =
      false;
  asked_ = true;
  hold_ = {};
}

void Part::send(const Route& route, SteadyTime now) {
  OperationHost& host = operation_.host_;
  node = route.node != nullptr ? route.node : host.directory().node_for(slot);
  Connection* const connection = node != nullptr && host.alive() ? node->pick() : nullptr;
  if (connection == nullptr || ++attempts_ > kMaxAttempts) {
    if (connection == nullptr) return fail(FailureKind::connect, now);
    return fail(FailureKind::cluster, now, "redirected too often");
  }
  std::string& out = connection->start();
  if (route.asking) CommandWriter(out, 1).word("ASKING");
  ScriptCall call = script_call();
  call.by_body = route.by_body;
  write_script_call(out, host.scripts(), call);
  StoreStats::add(host.counters().script_calls);
  script_ = script_of(call);
  sent_ = now;
  server_ = &node->figures();
  server_->sent();
  const auto place = static_cast<std::uint32_t>(node->under_way() + 1);
  connection->finish(*this, {.now = now,
                             .deadline = operation_.deadline_,
                             .skipped = static_cast<std::uint8_t>(route.asking ? 1 : 0),
                             .place = place});
}

ScriptAction Part::action() const {
  if (operation_.reserves()) return operation_.reservation_action(*this);
  const ScriptAction action = operation_.action();
  const bool of_leases =
      action == ScriptAction::renew || action == ScriptAction::settle || action == ScriptAction::list;
  return of_leases && !leases_ ? ScriptAction::peek : action;
}

ScriptCall Part::script_call() const {
  ScriptCall call{.action = action(),
                  .now_us = operation_.now_us(),
                  .charges = operation_.call_->charges,
                  .which = {which.data(), which.size()},
                  .full = operation_.full_};
  if (operation_.call_->hold != nullptr && holds_) call.hold = &operation_.step_;
  call.is_first = operation_.is_first_;
  call.draw = operation_.call_->action == Action::draw ? operation_.call_->draw : nullptr;
  if (is_once()) call.once = operation_.call_->once;
  return call;
}

bool Part::is_once() const {
  if (operation_.used_ != 1 || !operation_.call_->once) return false;
  const ScriptAction asked = action();
  return asked == ScriptAction::take || asked == ScriptAction::refund || asked == ScriptAction::failure ||
         asked == ScriptAction::success || (asked == ScriptAction::renew && operation_.reserves());
}

// Before what follows, which may send another attempt.
void Part::ended_at_server(CallOutcome outcome, bool answered, SteadyTime now) {
  server_->ended();
  const auto latency = std::chrono::duration_cast<std::chrono::microseconds>(now - sent_);
  if (answered) server_->took(latency);
  operation_.host_.counters().add_script_call(script_, outcome, latency);
}

void Part::on_reply(Reply reply, SteadyTime now) {
  if (undoing_) {
    server_->ended();
    return end(now);
  }
  if (reply[0].kind == ReplyKind::error) {
    ended_at_server(CallOutcome::failed, true, now);
    return take_error(reply[0], now);
  }
  const Charge* const bad = take_answer(reply);
  ended_at_server(bad != nullptr ? CallOutcome::failed
                  : denies()     ? CallOutcome::denied
                                 : CallOutcome::admitted,
                  true, now);
  if (bad != nullptr) {
    operation_.host_.bad_bucket(*bad, "the script's answer is not one that it can give", now);
    return fail(FailureKind::bucket, now);
  }
  node->call_succeeded();
  answered_ = !lost_;
  end(now);
}

void Part::on_lost(FailureKind kind, SteadyTime now) {
  if (undoing_) {
    server_->ended();
    return end(now);
  }
  ended_at_server(CallOutcome::failed, false, now);
  fail(kind, now);
}

void Part::take_error(const ReplyItem& error, SteadyTime now) {
  OperationHost& host = operation_.host_;
  if (is_error(error, "NOSCRIPT") && !reloaded_) {
    reloaded_ = true;
    StoreStats::add(host.counters().script_loads);
    return send({.node = node, .by_body = true}, now);
  }
  if (is_error(error, "MOVED")) return follow(error, false, now);
  if (is_error(error, "ASK")) return follow(error, true, now);
  if (is_error(error, "TRYAGAIN")) return host.retry_later(*this);
  const FailureKind kind = kind_of(error);
  StoreStats::add(host.counters().script_errors[script_]);
  Node* const asked = node;
  // Which of several it was about, Redis does not say.
  if (kind == FailureKind::bucket) host.bad_bucket(operation_.call_->charges[which[0]], error.text, now);
  fail(kind, now, error.text);
  // Last, because it may end other operations that wait on this node.
  if (host.alive() && (kind == FailureKind::read_only || kind == FailureKind::cluster)) host.directory().doubt(*asked);
}

void Part::follow(const ReplyItem& error, bool asking, SteadyTime now) {
  OperationHost& host = operation_.host_;
  std::uint16_t moved_slot = 0;
  Address address;
  if (!host.alive() || !read_redirection(error.text, *node, moved_slot, address))
    return fail(FailureKind::cluster, now, error.text);
  StoreStats::add(host.counters().redirects);
  if (!asking) host.directory().moved(moved_slot, address);
  Node* const target = host.directory().node_at(address);
  if (target == nullptr) return fail(FailureKind::cluster, now, error.text);
  // The script may be unknown there; its body costs little and saves a round trip after a resharding.
  send({.node = target, .by_body = reloaded_, .asking = asking}, now);
}

const Charge* Part::take_answer(Reply reply) {
  StoreCall& call = *operation_.call_;
  const ScriptAction asked = action();
  const bool share = asked == ScriptAction::share || asked == ScriptAction::share_renewal;
  const std::size_t width = share ? kSharedAnswer : asked == ScriptAction::draw ? kAnswer + kDrawAnswer : kAnswer;
  const std::size_t numbers_end = which.size() * width + 1;
  if (is_once()) {
    const bool told = reply.size() > 1 && reply.back().kind == ReplyKind::integer;
    if (reply[0].kind != ReplyKind::array || !told) return &call.charges[which[0]];
    call.replayed = reply.back().number == 1;
    reply = reply.first(reply.size() - 1);
  }
  const bool fits = holds_ ? reply.size() >= numbers_end + kHoldAnswer : reply.size() == numbers_end;
  if (reply[0].kind != ReplyKind::array || !fits) return &call.charges[which[0]];
  if (holds_ && !take_hold(reply.subspan(numbers_end))) return &call.charges[which[0]];
  if (operation_.raising_) return nullptr;  // what it charged is known
  const HoldState wanted = asked == ScriptAction::share_renewal ? HoldState::live : HoldState::taken;
  bool charged = share && (!holds_ || call.hold == nullptr || hold_.state == wanted);
  standing_.clear();
  for (std::size_t i = 0; i < which.size(); ++i) {
    const Reply numbers = reply.subspan(1 + i * width, width);
    const Charge& charge = call.charges[which[i]];
    ChargeOutcome& outcome = call.outcomes[which[i]];
    const MayAnswer may{.newcomer = (operation_.full_ >> which[i] & 1U) != 0, .crowded = operation_.reserves()};
    if (!read_outcome(numbers.first(kAnswer), *charge.allowance, outcome, may)) return &charge;
    if (asked == ScriptAction::draw && !read_draw(numbers.subspan(kAnswer), *charge.allowance, *call.draw)) {
      return &charge;
    }
    // A denial has no delay; of one that is charged as a debt it is what that leaves out.
    if (!outcome.admitted && charge.count_denied && charge.follows && !operation_.reserves())
      outcome.uncharged = std::exchange(outcome.delay, Duration::zero()).count();
    if (!share) continue;
    if (!read_standing(numbers.subspan(kAnswer), *charge.allowance, standing_.append())) return &charge;
    // One binding denial or newcomer, and this slot has charged nothing.
    charged = charged && outcome.status == Code::ok && (outcome.admitted || !charge.binding);
  }
  charged_ = charged;
  candidate_charged_ = share && !charged && charges_candidate();
  return nullptr;
}

// Of a part that is denied: nothing denies but the charge that some candidate belongs to.
bool Part::charges_candidate() const {
  const StoreCall& call = *operation_.call_;
  std::size_t denials = 0;
  std::uint8_t denier = 0;
  for (const std::uint8_t i : which) {
    if (call.outcomes[i].status != Code::ok) return false;
    if (call.outcomes[i].admitted || !call.charges[i].binding) continue;
    ++denials;
    denier = i;
  }
  return denials == 1 && !call.outcomes[denier].penalized &&
         std::any_of(which.begin(), which.end(), [&](std::uint8_t i) {
           return call.charges[i].candidate && call.charges[i].of == denier && call.outcomes[i].admitted;
         });
}

// Some other part denies, too: the candidate is not to be charged after all.
bool Operation::denied_elsewhere(const Part& part) const {
  const bool unknown = call_->status != Code::ok;
  return unknown || std::any_of(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(used_),
                                [&](const Part& other) { return &other != &part && other.denies(); });
}

// Takes back what this part has charged and tells the outcomes so. Never waits for a retry: should it fail, too much
// stays charged, which is the safe side.
void Part::undo(SteadyTime now) {
  StoreCall& call = *operation_.call_;
  InlineVector<std::uint8_t, 8> taken;
  InlineVector<std::int64_t, 8> charged_at_us;
  for (std::size_t i = 0; i < which.size(); ++i) {
    ChargeOutcome& outcome = call.outcomes[which[i]];
    const Charge& charge = call.charges[which[i]];
    if (!outcome.admitted || charge.value != 0) continue;  // a value stays counted
    if (!charged_ && !charge.candidate) continue;
    outcome.remaining = standing_[i].remaining;
    outcome.reset_after = Duration{standing_[i].reset_after_us};
    if (charge.cost == 0) continue;
    taken.push_back(which[i]);
    charged_at_us.push_back(standing_[i].charged_at_us);
  }
  HoldStep step = operation_.step_;
  step.token = hold_.token;
  send_after({.action = ScriptAction::undo,
              .now_us = operation_.now_us(),
              .charges = call.charges,
              .which = {taken.data(), taken.size()},
              .charged_at_us = {charged_at_us.data(), charged_at_us.size()},
              .hold = &step},
             now);
}

void Part::send_after(const ScriptCall& call, SteadyTime now) {
  OperationHost& host = operation_.host_;
  // Not where it was sent, which may be gone, but where the slot lives now.
  Node* const home = host.alive() ? host.directory().node_for(slot) : nullptr;
  Connection* const connection = home != nullptr ? home->pick() : nullptr;
  if (call.which.empty() || connection == nullptr) return;
  write_script_call(connection->start(), host.scripts(), call);
  undoing_ = true;
  server_ = &home->figures();
  server_->sent();
  ++operation_.under_way_;
  StoreStats::add(host.counters().script_calls);
  StoreStats::add(host.counters().undone);
  connection->finish(*this, {.now = now, .deadline = now + host.options().deadline});
}

void Part::fail(FailureKind kind, SteadyTime now, std::string_view said) {
  failure_ = kind;
  if (node != nullptr && operation_.host_.alive() && counts_against_server(kind)) node->call_failed(kind, said, now);
  operation_.host_.counters().add_failure(kind);
  if (node != nullptr && operation_.host_.alive()) node->figures().failed(kind);
  end(now);
}

// Some binding charge of this part is denied.
bool Part::denies() const {
  return std::any_of(which.begin(), which.end(), [this](std::uint8_t i) {
    return operation_.call_->charges[i].binding && !operation_.call_->outcomes[i].admitted;
  });
}

void Part::retry(SteadyTime now) {
  if (!operation_.host_.alive() || now >= operation_.deadline_) {
    return fail(FailureKind::cluster, now, "a slot is being moved for too long");
  }
  send({.by_body = reloaded_}, now);
}

void Part::end(SteadyTime now) { operation_.part_ended(now); }

bool Operation::begin(StoreCall& call, Origin caller, SteadyTime now) {
  call_ = &call;
  call.status = Code::ok;
  call.replayed = false;
  origin = caller;
  since = now;
  deadline_ = now + host_.options().deadline;
  raising_ = false;
  step_ = call.hold != nullptr ? *call.hold : HoldStep{};  // nothing of the call before
  is_first_ = follows_ = false;
  divide();
  stage_ = first_stage();
  call.atomic = used_ == 1;
  look_at_subjects(now);
  if (const auto obstacle = find_obstacle(now)) {
    refuse(*obstacle);
    return false;
  }
  if (Node* const full = find_full(/*behind_line=*/true)) {
    full->join_line(*this);
  } else {
    send(now);
  }
  return true;
}

// A node at which this has to wait: one without room, or one at which others wait and whose line it has not been in.
Node* Operation::find_full(bool behind_line) {
  for (std::size_t i = 0; i < used_; ++i) {
    Node* const node = host_.directory().node_for(parts_[i].slot);
    if (!node->has_room() || (behind_line && node->has_line())) return node;
  }
  return nullptr;
}

void Operation::send(SteadyTime now) {
  if (reserves()) return enter(stage_, now);
  under_way_ = used_;
  for (std::size_t i = 0; i < used_; ++i) parts_[i].send({}, now);
}

void Operation::proceed(SteadyTime now) {
  if (!host_.alive()) return refuse_later(FailureKind::connect);  // it was not sent
  if (const auto obstacle = find_obstacle(now)) return refuse_later(*obstacle);
  if (Node* const full = find_full(/*behind_line=*/false)) return full->join_line(*this);
  send(now);
}

void Operation::give_up(SteadyTime) { refuse_later(FailureKind::overload); }

void Operation::divide() {
  used_ = 0;
  const bool slotted = host_.directory().slotted();
  for (std::size_t i = 0; i < call_->charges.size(); ++i) {
    Part& part = part_for(slotted ? slot_of(call_->charges[i]) : std::uint16_t{0});
    part.which.push_back(static_cast<std::uint8_t>(i));
    const Charge& charge = call_->charges[i];
    part.leases_ = part.leases_ || charge.kind == ChargeKind::lease;
    part.has_units_ = part.has_units_ || (charge.kind == ChargeKind::lease && charge.cost > 0);
    part.record_ = part.record_ || charge.kind == ChargeKind::record;
    part.holds_ = part.leases_ || reserves();
  }
}

Part& Operation::part_for(std::uint16_t slot) {
  for (std::size_t i = 0; i < used_; ++i) {
    if (parts_[i].slot == slot) return parts_[i];
  }
  if (used_ == parts_.size()) parts_.emplace_back(*this);
  Part& part = parts_[used_++];
  part.reset();
  part.slot = slot;
  return part;
}

// Nothing is sent unless everything can be.
std::optional<FailureKind> Operation::find_obstacle(SteadyTime now) {
  for (std::size_t i = 0; i < used_; ++i) {
    Node* const node = host_.directory().node_for(parts_[i].slot);
    if (node == nullptr) return FailureKind::connect;
    const bool answering = node->answering();
    if (answering && node->pick() != nullptr) continue;
    if (answering) node->call_failed(FailureKind::connect, {}, now);
    const FailureKind obstacle = answering ? FailureKind::connect : FailureKind::refused;
    node->figures().failed(obstacle);
    return obstacle;
  }
  return std::nullopt;
}

void Operation::refuse(FailureKind kind) {
  call_->status = code_of(kind);
  call_ = nullptr;
  host_.counters().add_failure(kind);
}

void Operation::refuse_later(FailureKind kind) {
  StoreCall& call = *call_;
  const Origin caller = origin;
  refuse(kind);
  host_.release(*this);
  host_.complete(call, caller);
}

void Operation::part_ended(SteadyTime now) {
  if (--under_way_ > 0) return;
  if (call_ != nullptr) return conclude(now);
  host_.release(*this);
}

bool Operation::denied() const {
  for (std::size_t i = 0; i < call_->charges.size(); ++i) {
    if (call_->outcomes[i].status != Code::ok) return true;
    if (call_->charges[i].binding && !call_->outcomes[i].admitted) return true;
  }
  return false;
}

void Operation::conclude(SteadyTime now) {
  StoreCall& call = *call_;
  for (std::size_t i = 0; i < used_; ++i) {
    const Part& part = parts_[i];
    if (part.asked_ && !part.answered_ && call.status == Code::ok) call.status = code_of(part.failure_);
  }
  if (reserves()) {
    if (go_on(now)) return;
  } else if (call.hold != nullptr && call.status == Code::ok && agree_on_token(now)) {
    return;
  }
  raising_ = false;
  if (reserves()) {
    undo_reservation(now);
  } else if (action() == ScriptAction::share) {
    const bool failed = call.status != Code::ok || denied();
    for (std::size_t i = 0; i < used_; ++i) {
      const bool candidate = parts_[i].candidate_charged_ && denied_elsewhere(parts_[i]);
      if (candidate || (parts_[i].charged_ && must_undo(parts_[i], failed))) parts_[i].undo(now);
    }
  }
  if (call.hold != nullptr && call.status == Code::ok) {
    if (reserves()) {
      report_reservation();
    } else {
      end_gone_lease(now);
      report_hold();
    }
  }
  if (call.status == Code::ok) {
    record_subjects(call, now);
    host_.counters().add_latency(std::chrono::duration_cast<std::chrono::microseconds>(now - since));
  }
  call_ = nullptr;
  const Origin caller = origin;
  if (under_way_ == 0) host_.release(*this);
  host_.complete(call, caller);
}

ScriptAction Operation::action() const {
  if (raising_) return ScriptAction::renew;
  switch (call_->action) {
    case Action::take:
      return used_ > 1 ? ScriptAction::share : ScriptAction::take;
    case Action::peek:
      return ScriptAction::peek;
    case Action::refund:
      return ScriptAction::refund;
    case Action::reset:
      return ScriptAction::reset;
    case Action::renew:
      return ScriptAction::renew;
    case Action::settle:
      return ScriptAction::settle;
    case Action::list:
      return ScriptAction::list;
    case Action::report_failure:
      return ScriptAction::failure;
    case Action::report_success:
      return ScriptAction::success;
    case Action::draw:
      return ScriptAction::draw;
  }
  return ScriptAction::peek;
}

// What nodes have in common is the wall clock: a node whose clock was set back must not go on ahead of the others. Time
// in a bucket does not run backward, whatever time is sent.
std::int64_t Operation::now_us() const {
  const TimeSource source = host_.options().time;
  if (source == TimeSource::redis) return -1;
  const bool told = source == TimeSource::gateway && call_->ingress != TimePoint{};
  return micros(told ? call_->ingress : call_->reading().wall());
}

}  // namespace weir::redis
