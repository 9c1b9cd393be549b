#include "frontends/spop/actions.h"

#include <optional>
#include <string_view>

#include "frontends/render/decision_headers.h"
#include "frontends/render/decision_json.h"
#include "frontends/spop/frame.h"
#include "frontends/spop/wire.h"

namespace weir::spop {
namespace {

constexpr char kSetVariable = 1;
constexpr char kSetVariableArguments = 3;
constexpr char kTransaction = 2;
constexpr int kUnauthorized = 401;
// Action, count, scope, lengths and type of a text variable whose name is short.
constexpr std::size_t kTextOverhead = 16;

void name_variable(std::string& out, std::string_view name) {
  out += kSetVariable;
  out += kSetVariableArguments;
  out += kTransaction;
  put_string(out, name);
}

void set(std::string& out, std::string_view name, std::int64_t value) {
  name_variable(out, name);
  put_int64_value(out, value);
}

void set(std::string& out, std::string_view name, std::string_view text) {
  name_variable(out, name);
  put_text_value(out, text);
}

void set_verdict(std::string& out, bool allowed, int status, std::string_view reason) {
  set(out, "deny", allowed ? 0 : 1);
  set(out, "allowed", allowed ? 1 : 0);
  set(out, "status", status);
  set(out, "reason", reason);
}

}  // namespace

void ActionWriter::write_decision(std::string& out, std::uint64_t stream, std::uint64_t frame, const Decision& decision,
                                  std::uint32_t max_frame_bytes) {
  const std::size_t begun = begin_frame(out, FrameType::ack, stream, frame);
  set_verdict(out, decision.allowed, render::default_status(decision), reason_name(decision.reason));
  set(out, "degraded", decision.degraded ? 1 : 0);
  if (const std::optional<render::LimitNumbers> numbers = render::limit_numbers(decision, headers_)) {
    set(out, "limit", numbers->limit);
    set(out, "remaining", numbers->remaining);
    set(out, "reset", numbers->reset);
  }
  if (const std::int64_t seconds = render::retry_after_seconds(decision); seconds > 0) set(out, "retry_after", seconds);
  if (decision.delay.count() > 0) set(out, "delay_ms", ceil_ms(decision.delay));

  const auto set_text = [&](std::string_view name, auto append) {
    text_.clear();
    append(text_, decision);
    const std::size_t size = out.size() - begun - kLengthBytes + name.size() + text_.size() + kTextOverhead;
    if (!text_.empty() && size <= max_frame_bytes) set(out, name, text_);
  };
  set_text("message", [](std::string& text, const Decision& denied) { text = denial_message(denied); });
  if (headers_.ietf) {
    set_text("ratelimit", render::append_rate_limit);
    set_text("ratelimit_policy", render::append_rate_limit_policy);
  }
  end_frame(out, begun);
}

void ActionWriter::write_refusal(std::string& out, std::uint64_t stream, std::uint64_t frame, int status) {
  const std::size_t begun = begin_frame(out, FrameType::ack, stream, frame);
  set_verdict(out, false, status, status == kUnauthorized ? "unauthenticated" : "bad_request");
  end_frame(out, begun);
}

}  // namespace weir::spop
