// The sequential reference models: what "correct" means for every algorithm and every store.
//
// Each model says only, as plainly as it can, which costs fit at which time. What is left, when to retry and when the
// bucket is as new are not computed but searched for by asking the model again, so they share nothing with the code
// under test. One model is one bucket; not thread-safe. Times before the epoch count as the epoch.
//
//   auto model = weir::models::make_reference_model(allowance);
//   weir::models::Answer answer = model->take(now, cost);
#pragma once

#include <cstdint>
#include <memory>

#include "tests/models/burst_models.h"
#include "tests/models/model.h"
#include "tests/models/window_models.h"
#include "weir/allowance.h"

namespace weir::models {

inline std::unique_ptr<ReferenceModel> make_reference_model(const Allowance& allowance) {
  switch (allowance.algorithm) {
    case Algorithm::fixed_window:
      return std::make_unique<FixedWindowModel>(allowance);
    case Algorithm::bucketed_window:
      return std::make_unique<BucketedWindowModel>(allowance);
    case Algorithm::sliding_log:
      return std::make_unique<SlidingLogModel>(allowance);
    case Algorithm::sliding_counter:
      return std::make_unique<SlidingCounterModel>(allowance);
    case Algorithm::token_bucket:
      return std::make_unique<TokenBucketModel>(allowance);
    case Algorithm::gcra:
      return std::make_unique<GcraModel>(allowance);
    case Algorithm::leaky_bucket:
      return std::make_unique<LeakyBucketModel>(allowance);
  }
  return nullptr;
}

}  // namespace weir::models
