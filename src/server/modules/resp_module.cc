#include <memory>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "server/modules/front_ends.h"
#include "server/secrets.h"
#include "server/version.h"

namespace weir::server {
namespace {

class RespModule final : public Module {
 public:
  RespModule(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity)
      : context_(context), decisions_(decisions), identity_(identity) {}

  Status start() override {
    const Result<std::string> password = read_resp_password(context_.config);
    if (!password.ok()) return password.failure();
    service_ = std::make_unique<resp::RespService>(resp::RespOptions{.password = password.value(),
                                                                     .user = "default",
                                                                     .version = std::string(kVersion),
                                                                     .listener = "resp",
                                                                     .logins = context_.logins});
    context_.add_listener({.name = "resp",
                           .address = context_.config.listen_resp,
                           .has_credentials = !password.value().empty(),
                           .protocols = [this](std::size_t loop) -> transport::ProtocolFactory {
                             return [this, loop, identity = identity_.make_sent("resp")](transport::Link& link) {
                               return service_->serve(link, decisions_.limiter(loop), identity);
                             };
                           }});
    return success();
  }

 private:
  ServerContext& context_;
  DecisionsModule& decisions_;
  IdentityModule& identity_;
  std::unique_ptr<resp::RespService> service_;
};

}  // namespace

std::unique_ptr<Module> make_resp_module(ServerContext& context, DecisionsModule& decisions, IdentityModule& identity) {
  return std::make_unique<RespModule>(context, decisions, identity);
}

}  // namespace weir::server
