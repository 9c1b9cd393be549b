// once(): a handler that is called once for each Idempotency-Key, however often the request is sent.
//
// The first answer is recorded and replayed, marked `Idempotent-Replayed: true`: one with success for the time in the
// options, a denial until its wait is over. Other failures had no effect, and are not recorded.
// While the first call is running, a second gets 409; a key that comes with another request gets 422; when the table is
// full, a new key gets 503.
//
// With a store that other nodes share (once_store.h), the request waits for it; when that does not answer, it gets 503.
//
// A key belongs to the authenticated caller and to the tenant that the request names. Requests without a key go
// straight to the handler.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "frontends/http/idempotency_table.h"
#include "frontends/http/once_store.h"
#include "frontends/http/router.h"
#include "weir/time.h"

namespace weir::http {

struct OnceOptions {
  std::shared_ptr<IdempotencyTable> table{};  // shared by all loops
  std::shared_ptr<OnceStore> store{};         // in its place; neither: keys are refused
  std::shared_ptr<Clock> clock{};             // never null if there is a table
  Duration keep = std::chrono::hours(24);
  bool required = false;  // a request without a key is refused
  // Who is authenticated; none: no one is.
  std::function<std::string(const HttpRequest&)> caller_of{};
};

Handler once(OnceOptions options, Handler handler);

}  // namespace weir::http
