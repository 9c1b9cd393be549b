#include <utility>

#include "frontends/grpc/grpc_server.h"
#include "server/envoy_settings.h"
#include "server/modules/front_ends.h"
#include "server/modules/tracing_module.h"

namespace weir::server {
namespace {

class GrpcModule final : public Module {
 public:
  GrpcModule(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity, const TracingModule& tracing)
      : context_(context), decisions_(decisions), identity_(identity), tracing_(tracing) {}

  Status start() override {
    context_.add_listener({.name = "grpc",
                           .address = context_.config.listen_grpc,
                           .protocols = [this](std::size_t loop) { return protocols(loop); }});
    return success();
  }

 private:
  transport::ProtocolFactory protocols(std::size_t loop) {
    grpc::GrpcOptions options;
    options.clock = timers_;
    options.ready = [this] { return !context_.draining.load(std::memory_order_relaxed); };
    options.rls = rls_options(context_.config, context_.clock);
    options.times = identity_.make_gateway_time();
    options.identity = identity_.make_sent("grpc");
    options.tracing = tracing_.make_tracing();
    return grpc::grpc_protocols(decisions_.limiter(loop), options);
  }

  ServerContext& context_;
  DecisionsModule& decisions_;
  IdentityModule& identity_;
  const TracingModule& tracing_;
  const std::shared_ptr<SteadyClock> timers_ = std::make_shared<SteadyClock>();
};

}  // namespace

std::unique_ptr<Module> make_grpc_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity,
                                         const TracingModule& tracing) {
  return std::make_unique<GrpcModule>(context, decisions, identity, tracing);
}

}  // namespace weir::server
