// Load on a server, from several connections with one request under way on each.
//
// Without a rate, a connection sends its next request when the last one is answered. With a rate, request n is due at
// start + n / rate and latencies count from that moment: a server that falls behind is charged for the requests that
// had to wait, even though they were sent late.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/http_client.h"
#include "cli/latency.h"
#include "cli/subject_mix.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::cli {

// Time as the load sees it; tests have their own. Thread-safe.
class LoadTime {
 public:
  virtual ~LoadTime() = default;
  virtual TimePoint now() { return clock_.now(); }
  virtual void sleep(Duration duration);

 private:
  SteadyClock clock_;
};

struct LoadPlan {
  ServerTarget target;
  std::vector<std::string> bodies;  // of POST /v1/check, one for each subject
  SubjectMix mix;
  std::size_t connections = 1;
  Duration duration{};
  double rate = 0;  // requests a second over all connections; 0: as many as the server answers
};

struct LoadResult {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t failed = 0;
  std::uint64_t unsent = 0;  // due before the end, and no connection was free
  Latencies latencies;       // of answered requests
  Failure first_failure;     // if any failed
  Duration took{};

  std::uint64_t answered() const { return allowed + denied; }
  std::uint64_t sent() const { return answered() + failed; }
};

// Called now and then from the calling thread: how long the load has run, and how many requests are done.
using LoadProgress = std::function<void(Duration elapsed, std::uint64_t done)>;

// Blocks for the plan's duration. A connection gives up after ten failures in a row.
LoadResult run_load(const LoadPlan& plan, LoadTime& time, const LoadProgress& progress);

}  // namespace weir::cli
