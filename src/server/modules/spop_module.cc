#include <memory>

#include "frontends/spop/spop_protocol.h"
#include "server/listener_settings.h"
#include "server/modules/front_ends.h"

namespace weir::server {
namespace {

class SpopModule final : public Module {
 public:
  SpopModule(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity)
      : context_(context), decisions_(decisions), identity_(identity) {}

  Status start() override {
    context_.add_listener({.name = "spop",
                           .address = context_.config.listen_spop,
                           .protocols = [this](std::size_t loop) { return protocols(loop); }});
    return success();
  }

 private:
  transport::ProtocolFactory protocols(std::size_t loop) {
    spop::SpopOptions options;
    options.clients = identity_.make_callers("spop", identity_.make_gateway_time());
    options.max_frame_bytes = spop_frame_bytes(context_.config);
    options.headers = header_options(context_.config);
    return [this, loop, options](transport::Link& link) {
      return std::make_unique<spop::SpopProtocol>(link, decisions_.limiter(loop), options);
    };
  }

  ServerContext& context_;
  DecisionsModule& decisions_;
  IdentityModule& identity_;
};

}  // namespace

std::unique_ptr<Module> make_spop_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity) {
  return std::make_unique<SpopModule>(context, decisions, identity);
}

}  // namespace weir::server
