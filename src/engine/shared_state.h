// SharedState: what the engines of one process share, if it has several. What is null is made by the engine.
#pragma once

#include <memory>

#include "engine/adaptive_limits.h"
#include "engine/bucket_generations.h"
#include "engine/estimates.h"
#include "engine/stages/fallback_times.h"
#include "engine/stages/outage_debts.h"
#include "engine/stages/shedding.h"

namespace weir::engine {

struct SharedState {
  // Engines whose stores are the same in the end must share these.
  std::shared_ptr<BucketGenerations> generations = nullptr;
  std::shared_ptr<FallbackTimes> fallback_times = nullptr;
  std::shared_ptr<OutageDebts> debts = nullptr;
  std::shared_ptr<Estimates> estimates = nullptr;
  std::shared_ptr<Shedder> shedder = nullptr;
  std::shared_ptr<AdaptiveLimits> adaptive = nullptr;
  bool sheds = true;  // false for the second of two engines that decide about the same requests
};

}  // namespace weir::engine
