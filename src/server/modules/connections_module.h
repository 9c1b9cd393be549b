// ConnectionsModule: binds the listeners that the other modules register, with TLS and the PROXY protocol where they
// are configured, and reports on connections, their memory and failed logins.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/listener_tls.h"
#include "server/memory_return.h"
#include "server/module.h"
#include "server/modules/identity_module.h"
#include "server/server_context.h"

namespace weir::server {

class ConnectionsModule final : public Module {
 public:
  ConnectionsModule(ServerContext& context, const IdentityModule& identity)
      : context_(context), identity_(identity), tls_(context.log), memory_return_(*context.connection_memory) {}

  Status open() override { return tls_.open(context_.config); }
  Status start() override;
  Status reload() override { return tls_.reload(); }

  // After start() of all modules.
  Status bind();
  // Names and addresses with the ports that were taken, in the order of the listeners; "off" for those that are off.
  const std::vector<std::pair<std::string, std::string>>& addresses() const { return addresses_; }

 private:
  Status bind(const Listener& listener);
  void warn_if_unprotected(const Listener& listener) const;
  void add_facts(observe::Facts& facts) const;

  ServerContext& context_;
  const IdentityModule& identity_;
  ListenerTls tls_;
  MemoryReturn memory_return_;
  std::vector<std::pair<std::string, std::string>> addresses_;
};

}  // namespace weir::server
