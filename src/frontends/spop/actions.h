// What we answer: an ACK frame that sets variables of the transaction. With `option var-prefix rl` they are
//
//   txn.rl.deny, allowed, degraded   integers 0 or 1
//   txn.rl.status                    integer: the HTTP status of the answer: 200, 429, 503; 400 and 401 for
//                                    requests that were refused before any rule was asked
//   txn.rl.reason                    ok, limit_exceeded, …; bad_request (400), unauthenticated (401)
//   txn.rl.limit, remaining, reset   integers, of the most restrictive rule, when something was counted; reset in
//                                    seconds or as Unix time (HeaderOptions)
//   txn.rl.retry_after               integer, seconds, when denied and a wait helps
//   txn.rl.delay_ms                  integer, when the request should wait (leaky-bucket)
//   txn.rl.ratelimit, ratelimit_policy   the header fields, as every front end of ours writes them, unless
//                                    HeaderOptions leaves them out
//
// A variable that does not apply is not set. Not thread-safe: keeps a buffer for the header texts.
#pragma once

#include <cstdint>
#include <string>

#include "frontends/render/decision_headers.h"
#include "weir/decision.h"

namespace weir::spop {

class ActionWriter {
 public:
  explicit ActionWriter(const render::HeaderOptions& headers) : headers_(headers) {}

  // Header texts that would make the frame longer than `max_frame_bytes` are left out.
  void write_decision(std::string& out, std::uint64_t stream, std::uint64_t frame, const Decision& decision,
                      std::uint32_t max_frame_bytes);
  // Denies a request that no rule was asked about: 400, it cannot be read; 401, its credentials were not accepted.
  static void write_refusal(std::string& out, std::uint64_t stream, std::uint64_t frame, int status);

 private:
  const render::HeaderOptions headers_;
  std::string text_;
};

}  // namespace weir::spop
