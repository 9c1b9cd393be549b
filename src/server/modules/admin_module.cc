#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/http/http_protocol.h"
#include "observe/metrics.h"
#include "server/admin_routes.h"
#include "server/listener_settings.h"
#include "server/modules/front_ends.h"
#include "server/token_file.h"

namespace weir::server {
namespace {

class AdminModule final : public Module {
 public:
  AdminModule(ServerContext& context, const DecisionsModule& decisions, const RulesModule& rules)
      : context_(context), decisions_(decisions), rules_(rules) {}

  Status start() override {
    if (const std::vector<std::string>& tokens = context_.config.admin_tokens; !tokens.empty()) {
      auto hashes = std::make_shared<TokenHashes>(TokenHashes::of(tokens));
      guard_ = std::make_shared<http::TokenGuard>("admin", std::move(hashes), context_.logins);
    }
    metrics_ =
        std::make_unique<observe::Metrics>(decisions_.counters(), rules_.labels(), [this] { return context_.facts(); });
    context_.add_routes("admin", [this](http::Router& router, std::size_t) {
      add_admin_routes(router,
                       {*metrics_, [this](bool for_operators) { return context_.health(for_operators); }, guard_});
    });
    context_.add_listener({.name = "admin",
                           .address = context_.config.listen_admin,
                           .has_credentials = guard_ != nullptr,
                           .protocols = [this](std::size_t loop) {
                             return http::http_protocols(context_.make_router("admin", loop),
                                                         message_limits(context_.config), context_.clock);
                           }});
    return success();
  }

 private:
  ServerContext& context_;
  const DecisionsModule& decisions_;
  const RulesModule& rules_;
  std::unique_ptr<observe::Metrics> metrics_;
  std::shared_ptr<http::TokenGuard> guard_;  // null: no token is needed
};

}  // namespace

std::unique_ptr<Module> make_admin_module(ServerContext& context, const DecisionsModule& decisions,
                                          const RulesModule& rules) {
  return std::make_unique<AdminModule>(context, decisions, rules);
}

}  // namespace weir::server
