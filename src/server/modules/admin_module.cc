#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admin/api.h"
#include "admin/audit_routes.h"
#include "admin/session_routes.h"
#include "admin/token_routes.h"
#include "frontends/http/http_protocol.h"
#include "observe/metrics.h"
#include "server/admin_routes.h"
#include "server/listener_settings.h"
#include "server/modules/front_ends.h"
#include "server/state_route.h"
#include "server/version.h"

namespace weir::server {
namespace {

class AdminModule final : public Module {
 public:
  AdminModule(ServerContext& context, AdminToolsModule& tools, const DecisionsModule& decisions,
              const RulesModule& rules, const ConnectionsModule& connections)
      : context_(context), tools_(tools), decisions_(decisions), rules_(rules), connections_(connections) {}

  Status start() override {
    if (Status closed = check_protection(); !closed.ok()) return closed;
    scrapes_ = std::make_unique<admin::SideThread>();
    metrics_ =
        std::make_unique<observe::Metrics>(decisions_.counters(), rules_.labels(), [this] { return context_.facts(); });
    context_.add_routes("admin", [this](http::Router& router, std::size_t) {
      add_admin_routes(router,
                       {*metrics_, *scrapes_, [this](bool for_operators) { return context_.health(for_operators); },
                        tools_.access()});
      admin::add_index_route(router);
    });
    if (tools_.access()->is_open() && context_.config.listen_admin != kOff) {
      context_.log.info("admin_open", "there is no token, so everyone on this machine may use the admin API",
                        {{"close_with", "weir token create"}});
    }
    tools_.add_routes([this](admin::Api& api) {
      admin::add_session_routes(api, tools_.access(), std::string(kVersion));
      admin::add_token_routes(api);
      admin::add_audit_routes(api);
      add_state_route(api, context_, tools_, connections_);
    });
    context_.add_listener({.name = "admin",
                           .address = context_.config.listen_admin,
                           .has_credentials = !tools_.access()->is_open(),
                           .protocols = [this](std::size_t loop) {
                             return http::http_protocols(context_.make_router("admin", loop),
                                                         message_limits(context_.config), context_.clock);
                           }});
    return success();
  }
  void stop() override { scrapes_.reset(); }

 private:
  // Other machines must never reach a listener that lets everyone in, or one that lets no one in.
  Status check_protection() const {
    const std::string& address = context_.config.listen_admin;
    if (!is_beyond_loopback(address) || tools_.access()->has_credentials()) return success();
    // Its tokens are not known yet; until they are, no one is let in.
    if (tools_.databases().database() != nullptr && !tools_.databases().is_ready()) return success();
    return Failure{Code::invalid_argument,
                   "listen.admin: " + address +
                       " is beyond loopback, and there is no token: make one with `weir token create`, or set "
                       "admin.tokens, or tls.client_ca and admin.certificates"};
  }

  ServerContext& context_;
  AdminToolsModule& tools_;
  const DecisionsModule& decisions_;
  const RulesModule& rules_;
  const ConnectionsModule& connections_;
  std::unique_ptr<observe::Metrics> metrics_;
  std::unique_ptr<admin::SideThread> scrapes_;
};

}  // namespace

std::unique_ptr<Module> make_admin_module(ServerContext& context, AdminToolsModule& tools,
                                          const DecisionsModule& decisions, const RulesModule& rules,
                                          const ConnectionsModule& connections) {
  return std::make_unique<AdminModule>(context, tools, decisions, rules, connections);
}

}  // namespace weir::server
