// GatewayTime: when a gateway received a request (redis.time: gateway, docs/time.md). Trusted only from
// identity.trusted_proxies and only near our own clock; else that one counts, and it is counted and logged why.
//
// One for each loop; the counts are shared. Borrows live, clock, log and counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/transport/ingress_time.h"
#include "identity/identity.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/config.h"
#include "server/live_identity.h"
#include "weir/time.h"

namespace weir::server {

// "1700000000.123" (seconds; nginx's $msec), or without a point also milliseconds (13 digits) or microseconds (16),
// each with or without "t=" before it. Nothing for any other text.
std::optional<TimePoint> parse_ingress_time(std::string_view text);

// What became of the gateways' times. Thread-safe.
class GatewayTimeCounts {
 public:
  enum class Result : std::uint8_t { used, missing, untrusted, unreadable, out_of_bounds };
  static constexpr std::size_t kResults = 5;
  static std::string_view name(Result result);

  void add(Result result) { counts_[static_cast<std::size_t>(result)].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t of(Result result) const {
    return counts_[static_cast<std::size_t>(result)].load(std::memory_order_relaxed);
  }
  // True at most once in kLogPeriod for each result.
  bool may_log(Result result, TimePoint now);

  static constexpr Duration kLogPeriod = std::chrono::seconds(10);

 private:
  std::array<std::atomic<std::uint64_t>, kResults> counts_{};
  std::array<std::atomic<std::int64_t>, kResults> logged_us_{};
};

struct GatewayTimeOptions {
  std::string field;  // in lower case
  Duration bound{0};  // how far from our own clock
};

GatewayTimeOptions gateway_time_options(const Config& config);
// Empty unless gateways send the time.
std::vector<observe::GatewayTimeCount> gateway_time_facts(bool enabled, const GatewayTimeCounts& counts);

class GatewayTime final : public transport::IngressTime {
 public:
  GatewayTime(GatewayTimeOptions options, LiveIdentity& live, Clock& clock, observe::Log& log,
              GatewayTimeCounts& counts)
      : options_(std::move(options)), live_(live), clock_(clock), log_(log), counts_(counts) {}

  std::string_view field_name() const override { return options_.field; }
  TimePoint read(std::size_t count, std::string_view value, const transport::Peer& peer) override;
  // The same from a gateway that is always trusted.
  TimePoint read_trusted(std::size_t count, std::string_view value);

 private:
  bool trusts(const transport::Peer& peer);
  TimePoint refuse(GatewayTimeCounts::Result result, const Reading& at);

  const GatewayTimeOptions options_;
  LiveIdentity& live_;
  Clock& clock_;
  observe::Log& log_;
  GatewayTimeCounts& counts_;
  // Whether the peer of the last request is trusted: there are few gateways, and each asks often.
  std::uint64_t version_ = 0;
  std::string last_peer_;
  bool last_trusted_ = false;
};

}  // namespace weir::server
