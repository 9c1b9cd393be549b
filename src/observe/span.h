// Span: one step of a request, with its times, on its way to an OpenTelemetry collector. SpanRing: spans of one event
// loop that wait for that.
//
// A decision's texts are views that live as long as its limiter (weir/decision.h), which outlives what waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/time.h"
#include "weir/trace.h"

namespace weir::observe {

struct Span {
  enum class Step : std::uint8_t {
    decision,  // from the question to the answer
    store,     // while the store was asked
    ledger,    // while the database was asked
    change,    // from the question to the answer of a call that decides nothing
  };
  Step step = Step::decision;
  TraceId trace{};
  SpanId id{};
  SpanId parent{};  // all zero: none
  TimePoint from{};
  TimePoint to{};
  bool failed = false;      // was not answered
  std::string_view name;    // of a change
  std::string_view source;  // of a decision or a change; of the others, who was asked
  // Of a decision; of a change the last three.
  bool allowed = true;
  bool degraded = false;
  Reason reason = Reason::ok;
  std::string_view rule;  // empty: none decided
  std::int64_t cost = 0;
  std::uint64_t rules_version = 0;
  std::uint64_t rules_hash = 0;
};

// One writer and one reader, which do not wait for each other: a span that finds no room is dropped and counted.
class SpanRing {
 public:
  // Rounded up to a power of two.
  explicit SpanRing(std::size_t capacity);

  // The writer.
  void push(const Span& span);
  // The reader: moves at most `most` to the end of `out`.
  void pop(std::size_t most, std::vector<Span>& out);

  // From any thread.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  std::size_t capacity() const { return spans_.size(); }

 private:
  std::vector<Span> spans_;
  // Each is written by one side and grows forever; their difference is what waits. The writer publishes a span with
  // `written_`, the reader gives its place back with `read_`.
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::atomic<std::uint64_t> dropped_{0};  // written by the writer only
};

}  // namespace weir::observe
