// The text formats of access logs, one parser each.
//
//   common, combined   nginx, Apache (also with the virtual host first), Traefik; one more text in quotation marks
//                      behind the user agent is X-Forwarded-For, as in nginx's "main" format
//   envoy              Envoy's default format
//   haproxy            HAProxy's `option httplog`, with or without what syslog puts before it
//
// Fields for --map: remote_addr, user, method, target, status, bytes, referer, user_agent, host, and what a format has
// besides (docs/simulate.md).
#pragma once

#include "simulate/log_record.h"
#include "simulate/log_time.h"

namespace weir::simulate {

class CommonLine final : public LineParser {
 public:
  explicit CommonLine(Zone zone) : times_(std::move(zone)) {}
  const char* parse(std::string_view line, LogRecord& record) override;

 private:
  CommonTimes times_;
};

class EnvoyLine final : public LineParser {
 public:
  explicit EnvoyLine(Zone zone) : zone_(std::move(zone)) {}
  const char* parse(std::string_view line, LogRecord& record) override;

 private:
  const Zone zone_;
};

class HaproxyLine final : public LineParser {
 public:
  explicit HaproxyLine(Zone zone) : zone_(std::move(zone)) {}
  const char* parse(std::string_view line, LogRecord& record) override;

 private:
  const Zone zone_;
};

// "10.0.0.1:1234" or "[2001:db8::1]:1234" without the port.
std::string_view without_port(std::string_view address);

}  // namespace weir::simulate
