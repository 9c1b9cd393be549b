// What the calls about leases and about reservations have in common.
#pragma once

#include <cstdint>
#include <optional>

#include "frontends/grpc/call.h"
#include "frontends/grpc/limiter_wire.h"
#include "frontends/transport/request_identity.h"
#include "weir/ask.h"
#include "weir/hold.h"
#include "weir/result.h"

namespace weir::grpc {

// The status of a call that was refused.
Code hold_code(HoldFault fault);

// 0: none was sent. Failure: invalid_argument, which says what is expected.
Result<Duration> hold_ttl(std::int64_t ttl_ms);

Failure unparsable_message();

// A request that takes something: with what the call itself says, and who the caller is (`identity` may be null).
enum class Caller : std::uint8_t {
  known,
  refused,   // its credentials are not accepted: a denial
  answered,  // the call was finished with an error
};
Caller identify_caller(Call& call, Request& request, transport::RequestIdentity* identity);

// Asks `holds`, and sends the answer now or later with `send(call, verb, answer)`.
template <typename Answer, typename Holds, typename Question, typename Send>
void ask_holds(Call& call, Holds& holds, const Question& question, Send send) {
  const auto verb = question.verb;
  ask(
      holds, question, [&](const Answer& answer) { send(call, verb, answer); },
      [&] {
        return [verb, send, pending = call.defer()](const Answer& answer) {
          pending.complete([verb, send, answer](Call& later) { send(later, verb, answer); });
        };
      });
}

}  // namespace weir::grpc
