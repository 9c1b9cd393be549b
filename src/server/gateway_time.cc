#include "server/gateway_time.h"

#include <charconv>

#include "base/ascii.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxSecondsDigits = 11;
constexpr std::size_t kMillisecondsDigits = 13;
constexpr std::size_t kMicrosecondsDigits = 16;
constexpr std::size_t kMaxFractionDigits = 9;
constexpr std::size_t kFractionDigits = 6;  // the rest is cut off

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::int64_t number(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::int64_t micros_of_fraction(std::string_view digits) {
  std::int64_t micros = 0;
  for (std::size_t i = 0; i < kFractionDigits; ++i) micros = micros * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return micros;
}

}  // namespace

std::optional<TimePoint> parse_ingress_time(std::string_view text) {
  if (text.starts_with("t=")) text.remove_prefix(2);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (!is_digits(whole)) return std::nullopt;
  if (point != std::string_view::npos) {
    const std::string_view fraction = text.substr(point + 1);
    if (!is_digits(fraction) || fraction.size() > kMaxFractionDigits || whole.size() > kMaxSecondsDigits) {
      return std::nullopt;
    }
    return from_micros(number(whole) * 1'000'000 + micros_of_fraction(fraction));
  }
  if (whole.size() <= kMaxSecondsDigits) return from_micros(number(whole) * 1'000'000);
  if (whole.size() == kMillisecondsDigits) return from_micros(number(whole) * 1'000);
  if (whole.size() == kMicrosecondsDigits) return from_micros(number(whole));
  return std::nullopt;
}

std::string_view GatewayTimeCounts::name(Result result) {
  constexpr std::string_view kNames[kResults] = {"used", "missing", "untrusted", "unreadable", "out_of_bounds"};
  return kNames[static_cast<std::size_t>(result)];
}

bool GatewayTimeCounts::may_log(Result result, TimePoint now) {
  std::atomic<std::int64_t>& logged = logged_us_[static_cast<std::size_t>(result)];
  std::int64_t last = logged.load(std::memory_order_relaxed);
  if (last != 0 && micros(now) - last < kLogPeriod.count()) return false;
  return logged.compare_exchange_strong(last, micros(now), std::memory_order_relaxed);
}

GatewayTimeOptions gateway_time_options(const Config& config) {
  return {.field = base::lowered(config.redis_time_header), .bound = config.redis_time_bound};
}

std::vector<observe::GatewayTimeCount> gateway_time_facts(bool enabled, const GatewayTimeCounts& counts) {
  std::vector<observe::GatewayTimeCount> facts;
  for (std::size_t i = 0; enabled && i < GatewayTimeCounts::kResults; ++i) {
    const auto result = static_cast<GatewayTimeCounts::Result>(i);
    facts.push_back({GatewayTimeCounts::name(result), counts.of(result)});
  }
  return facts;
}

TimePoint GatewayTime::read(std::size_t count, std::string_view value, const transport::Peer& peer) {
  if (count > 0 && !trusts(peer)) return refuse(GatewayTimeCounts::Result::untrusted, clock_.read());
  return read_trusted(count, value);
}

TimePoint GatewayTime::read_trusted(std::size_t count, std::string_view value) {
  const Reading at = clock_.read();
  if (count == 0) return refuse(GatewayTimeCounts::Result::missing, at);
  const std::optional<TimePoint> time = count == 1 ? parse_ingress_time(value) : std::nullopt;
  if (!time) return refuse(GatewayTimeCounts::Result::unreadable, at);
  const Duration off = *time - at.wall();
  if (off > options_.bound || off < -options_.bound) return refuse(GatewayTimeCounts::Result::out_of_bounds, at);
  counts_.add(GatewayTimeCounts::Result::used);
  return *time;
}

bool GatewayTime::trusts(const transport::Peer& peer) {
  const std::uint64_t version = live_.version();
  if (version == version_ && peer.address == last_peer_) return last_trusted_;
  std::optional<base::IpAddress> address;
  if (!peer.address.empty()) address = base::parse_ip(peer.address);
  last_trusted_ = live_.current()->trusts(address);
  last_peer_ = peer.address;
  version_ = version;
  return last_trusted_;
}

// Without the value: it may be a client's.
TimePoint GatewayTime::refuse(GatewayTimeCounts::Result result, const Reading& at) {
  counts_.add(result);
  if (counts_.may_log(result, at.now)) {
    log_.warn("gateway_time_unused", "a request has no usable time from its gateway: the clock of this node is used",
              {{"cause", GatewayTimeCounts::name(result)}, {"field", options_.field}});
  }
  return {};
}

}  // namespace weir::server
