#include "stores/redis/exactness.h"

#include <string>

namespace weir::redis {
namespace {

constexpr std::int64_t kExact = std::int64_t{1} << 53;

Failure too_fine(const char* field, std::int64_t value, std::int64_t most, const Allowance& allowance) {
  std::string message = std::string(field) + ": is " + std::to_string(value) + ", expected at most " +
                        std::to_string(most) + " on Redis at a rate of " + std::to_string(allowance.rate_units) +
                        " units every " + std::to_string(allowance.rate_ticks) +
                        " microseconds; a limit that divides the window more evenly allows more";
  return {Code::invalid_argument, std::move(message)};
}

}  // namespace

Status redis_supports(const Allowance& allowance) {
  switch (allowance.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::gcra: {
      // What is owed and a cost are added before they are compared: twice the capacity must be exact.
      const std::int64_t most = kExact / 2 / allowance.rate_ticks;
      if (allowance.burst > most) return too_fine("burst", allowance.burst, most, allowance);
      return success();
    }
    case Algorithm::leaky_bucket: {
      const std::int64_t most = (kExact / allowance.rate_ticks - 2) / 3;
      if (allowance.queue > most) return too_fine("queue", allowance.queue, most, allowance);
      return success();
    }
    case Algorithm::fixed_window:
    case Algorithm::bucketed_window:
    case Algorithm::sliding_log:
    case Algorithm::sliding_counter:
      return success();
  }
  return Failure{Code::invalid_argument, "algorithm: is unknown"};
}

}  // namespace weir::redis
