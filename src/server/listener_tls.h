// ListenerTls: the server's certificate and which listeners use it (settings tls.*).
//
// reload() reads the files again for new connections; those that exist keep what they began with. A failure is logged
// and changes nothing. open() and context_for() before anything listens; reload() from any one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "frontends/transport/tls.h"
#include "observe/log.h"
#include "server/config.h"
#include "weir/result.h"

namespace weir::server {

class ListenerTls {
 public:
  explicit ListenerTls(observe::Log& log) : log_(log) {}

  // Without tls.cert no listener speaks TLS.
  Status open(const Config& config);
  // Null: plain. gRPC's offers HTTP/2 only, the others' no ALPN.
  std::shared_ptr<const transport::TlsContext> context_for(std::string_view listener) const;
  Status reload();

 private:
  observe::Log& log_;
  std::map<std::string, std::shared_ptr<transport::TlsContext>, std::less<>> contexts_;  // by listener
};

// What is wrong with the tls settings themselves, as "tls.key: …".
Status check_tls_settings(const Config& config);

}  // namespace weir::server
