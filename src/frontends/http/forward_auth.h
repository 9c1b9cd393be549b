// ForwardAuthHandler: /v1/forward-auth, where a gateway asks whether a client's request may proceed (docs/identity.md).
// The gateway sends the client's header fields and describes its request; another room identifies the client and makes
// the attributes.
//
// One for each loop, like CheckHandler.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "frontends/http/caller.h"
#include "frontends/http/router.h"
#include "frontends/render/decision_headers.h"
#include "frontends/transport/tracing.h"
#include "weir/limiter.h"

namespace weir::http {

// Identifies the caller. Called on one loop.
class CallerReader {
 public:
  virtual ~CallerReader() = default;
  virtual std::optional<CallerRefusal> read(const HttpRequest& request, const transport::Peer& peer,
                                            Caller& caller) = 0;
};

class ForwardAuthHandler : public std::enable_shared_from_this<ForwardAuthHandler> {
 public:
  // The limiter outlives the handler. `tracing` may be null.
  ForwardAuthHandler(Limiter& limiter, std::shared_ptr<CallerReader> callers, const render::HeaderOptions& headers,
                     std::shared_ptr<transport::Tracing> tracing = {})
      : limiter_(limiter), callers_(std::move(callers)), headers_(headers), tracing_(std::move(tracing)) {}

  void answer(const HttpRequest& request, ResponseWriter& writer);

 private:
  void refuse(const CallerRefusal& refusal, int deny_status, ResponseWriter& writer);
  Response render(const Decision& decision, int deny_status);

  Limiter& limiter_;
  const std::shared_ptr<CallerReader> callers_;
  const render::HeaderOptions headers_;
  const std::shared_ptr<transport::Tracing> tracing_;
  std::string json_;
  std::string fields_;
};

}  // namespace weir::http
