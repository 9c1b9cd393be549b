// CheckBody: the JSON body of /v1/check, /v1/check/batch, /v1/refund, /v1/reset and /v1/report, read strictly.
//
// Wrong types, unknown or repeated members, trailing bytes, NUL, invalid UTF-8 and anything over its bound are refused
// with a message that names the member: "attributes.tenant: the value is longer than 4096 bytes". Text that is not JSON
// is refused with line, column and what was expected there.
//
// Buffers are kept between bodies, so reading does not allocate once warm. Not thread-safe: one for each loop. The
// requests refer to it and are valid until the next read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weir/request.h"
#include "weir/result.h"

namespace weir::http {

class JsonBody;

inline constexpr std::size_t kMaxBatch = 1'000;
inline constexpr std::size_t kMaxPriority = 32;
inline constexpr std::size_t kMaxResetReason = 2'000;
inline constexpr std::int64_t kMaxWaitMs = 30'000;
inline constexpr std::int64_t kMaxDurationMs = 3'600'000;

class CheckBody {
 public:
  CheckBody();
  ~CheckBody();

  Status read_check(std::string_view body);
  // As a check, without "peek" and "wait_ms".
  Status read_refund(std::string_view body);
  // The same, and perhaps "reason".
  Status read_reset(std::string_view body);
  // Attributes, "outcome" and perhaps "duration_ms".
  Status read_report(std::string_view body);
  // {"requests":[…]}, each as a check without "wait_ms".
  Status read_batch(std::string_view body);

  // One, except after read_batch().
  std::span<const Request> requests() const { return requests_; }
  const Request& request() const { return requests_.front(); }
  // To be changed by identity.
  std::vector<Request>& requests() { return requests_; }
  // For all of them.
  void set_ingress(TimePoint time);
  // What names the call, for each of them as a part of it. Must stay alive like the body.
  void set_once(std::string_view once);
  void set_trace(const TraceContext* trace);
  // How long the answer to an admitted request may be held back.
  std::int64_t wait_ms() const { return wait_ms_; }
  // Of a report: how the work ended, and how long it took; 0: not reported.
  bool is_success() const { return success_; }
  std::int64_t duration_ms() const { return duration_ms_; }
  // Of a reset: why; empty: not told. Refers to the body.
  std::string_view reason() const { return reason_; }

 private:
  class Reader;

  template <typename Read>
  Status read(std::string_view body, Read read_document);
  void refer_to_attributes();

  std::unique_ptr<JsonBody> json_;
  std::vector<Attribute> attributes_;        // of all requests, one after the other
  std::vector<std::size_t> attribute_ends_;  // of each request
  std::vector<Request> requests_;
  std::int64_t wait_ms_ = 0;
  std::int64_t duration_ms_ = 0;
  bool success_ = false;
  std::string_view reason_;
};

}  // namespace weir::http
