// grpc.health.v1.Health: Check, and Watch, which answers again whenever readiness changes and once more on leaving.
//
// Every service of this server is as ready as the server.
#pragma once

#include <functional>
#include <utility>

#include "frontends/grpc/call.h"

namespace weir::grpc {

class HealthService final : public Service {
 public:
  static constexpr std::string_view kName = "grpc.health.v1.Health";
  enum MethodIndex { kCheck, kWatch };

  // `ready` is asked on each check and a few times a second while a client watches. None: always ready.
  explicit HealthService(std::function<bool()> ready) : ready_(std::move(ready)) {}

  void on_message(Call& call, int method, std::string_view message) override;
  void on_poll(Call& call, bool leaving) override;

 private:
  int status_now() const;

  const std::function<bool()> ready_;
};

}  // namespace weir::grpc
