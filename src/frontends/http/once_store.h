// OnceStore: where the answers to requests with an Idempotency-Key are kept if other nodes share them. once.h uses it
// instead of an IdempotencyTable.
//
// Used on one loop, by the handlers of that loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "frontends/http/idempotency_table.h"
#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir::http {

// A call that runs. Destroyed without finish(), its key is free again.
class RunningAnswer {
 public:
  virtual ~RunningAnswer() = default;
  // The answer is replayed from `delay` on, for `keep`.
  virtual void finish(const RecordedAnswer& answer, Duration delay, Duration keep) = 0;
};

class OnceStore {
 public:
  struct Begun {
    IdempotencyTable::Found found = IdempotencyTable::Found::unavailable;
    RecordedAnswer answer{};                   // replayed
    std::shared_ptr<RunningAnswer> running{};  // fresh
    BucketKey id{};                            // fresh: of this request, for weir::Once
  };
  virtual ~OnceStore() = default;
  // Calls `done` exactly once, on the same loop, now or later. `scope`: IdempotencyTable::scope_of().
  virtual void begin(const std::string& scope, const BucketKey& body, std::function<void(Begun)> done) = 0;
};

}  // namespace weir::http
