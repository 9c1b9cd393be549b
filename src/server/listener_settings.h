// What the settings mean for the listeners: how large messages may be, how long they may take, and what happens to
// logins that fail. Plain functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "frontends/http/http_message.h"
#include "frontends/render/decision_headers.h"
#include "frontends/transport/limits.h"
#include "frontends/transport/login_guard.h"
#include "observe/log.h"
#include "server/config.h"

namespace weir::server {

transport::Limits connection_limits(const Config& config);
http::HttpLimits message_limits(const Config& config);
// The least that connection_memory must be, so that one message of the largest size fits.
std::size_t least_connection_memory(const Config& config);
// The largest frame of HAProxy's protocol.
std::uint32_t spop_frame_bytes(const Config& config);

// Which header fields tell clients about their limits. Precondition: the configuration was checked.
render::HeaderOptions header_options(const Config& config);

// Whether other machines can reach an address: TCP, and not 127.0.0.0/8 or ::1.
bool is_beyond_loopback(const std::string& address);

// One for all listeners; failures are logged. The log outlives it.
std::shared_ptr<transport::LoginGuard> make_login_guard(std::shared_ptr<Clock> clock, observe::Log& log);

}  // namespace weir::server
