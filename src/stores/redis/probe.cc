#include "stores/redis/probe.h"

#include "stores/redis/encoding.h"

namespace weir::redis {
namespace {

// With a clock other than the server's, the time is sent to the scripts; which one does not matter for the probe's
// buckets.
constexpr std::int64_t kSomeTimeUs = 1'000'000;
constexpr std::uint8_t kBoth[] = {0, 1};

Allowance probe_allowance() {
  AllowanceSpec spec;
  spec.algorithm = Algorithm::fixed_window;
  spec.limit = 1;
  spec.window = std::chrono::seconds(1);
  return make_allowance(spec).value();
}

// A node that sends the bucket elsewhere works; it just has other slots by now.
bool passes(const ReplyItem& answer) {
  return answer.kind == ReplyKind::array || is_error(answer, "MOVED") || is_error(answer, "ASK");
}

}  // namespace

Probe::Probe(const ScriptSet& scripts, std::uint16_t slot, bool server_time, ProbeOwner& owner)
    : scripts_(scripts),
      slot_(slot),
      now_us_(server_time ? -1 : kSomeTimeUs),
      owner_(owner),
      allowance_(probe_allowance()) {
  for (std::size_t i = 0; i < charges_.size(); ++i) {
    charges_[i].allowance = &allowance_;
    charges_[i].rule = "probe";
    charges_[i].key.low = i;
  }
}

void Probe::send(Connection& connection, SteadyTime now, std::chrono::milliseconds deadline) {
  // Some tag that lives in the slot, found by trying.
  while (slot_of(charges_[0]) != slot_) ++charges_[0].tag.high;
  charges_[1].tag = charges_[0].tag;
  connection_ = &connection;
  deadline_ = now + deadline;
  by_body_ = false;
  ask(now);
}

void Probe::ask(SteadyTime now) {
  unknown_script_ = false;
  trouble_.reset();
  ScriptCall call{.by_body = by_body_, .now_us = now_us_, .charges = charges_};
  call.action = ScriptAction::take;
  call.which = {kBoth, 1};
  write_script_call(connection_->start(), scripts_, call);
  connection_->finish(*this, {.now = now, .deadline = deadline_});
  call.action = ScriptAction::reset;
  call.which = kBoth;
  write_script_call(connection_->start(), scripts_, call);
  connection_->finish(*this, {.now = now, .deadline = deadline_});
  unanswered_ = 2;
}

void Probe::on_reply(Reply reply, SteadyTime now) {
  const ReplyItem& answer = reply[0];
  if (is_error(answer, "NOSCRIPT")) {
    unknown_script_ = true;
  } else if (!passes(answer) && !trouble_) {
    trouble_ = trouble_of(answer);
  }
  if (--unanswered_ > 0) return;
  // As a call does: a server whose scripts were flushed still works.
  if (unknown_script_ && !trouble_ && !by_body_ && connection_->accepts()) {
    by_body_ = true;
    return ask(now);
  }
  if (unknown_script_ && !trouble_) trouble_ = Trouble{Cause::other, "the server does not keep scripts"};
  owner_.on_probed(trouble_, now);
}

void Probe::on_lost(FailureKind kind, SteadyTime now) {
  if (!trouble_) trouble_ = Trouble{cause_of(kind), ""};  // the connection says why
  if (--unanswered_ == 0) owner_.on_probed(trouble_, now);
}

}  // namespace weir::redis
