#include "simulate/text_lines.h"

#include <algorithm>
#include <array>

#include "simulate/text_scan.h"

namespace weir::simulate {
namespace {

constexpr const char* kNoTime = "has no time such as [10/Oct/2000:13:55:36 -0700]";
constexpr const char* kBadTime = "has a time that is not valid";
constexpr const char* kNoRequest = "has no request such as \"GET /path HTTP/1.1\"";
constexpr const char* kNoStatus = "has no status behind the request";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where "[10/Oct/…" begins; npos: nowhere. HAProxy's own number, "haproxy[123]:", is none.
std::size_t find_common_time(std::string_view line) {
  for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    if (at + 21 < line.size() && is_digit(line[at + 1]) && is_digit(line[at + 2]) && line[at + 3] == '/') return at;
  }
  return std::string_view::npos;
}

// "example.org:443", as Apache's vhost_combined begins.
bool is_host_and_port(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == word.size() || word.find(':') != colon) return false;
  return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(colon) + 1, word.end(), is_digit);
}

// HAProxy writes address:port, and IPv6 without brackets ("::1:37338"): the last colon is before the port.
std::string_view haproxy_address(std::string_view text) {
  if (text.starts_with('[')) return without_port(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return text;
  const bool port = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(), is_digit);
  return port ? text.substr(0, colon) : text;
}

// What comes before the time: [host:port] address identity user.
bool read_callers(std::string_view text, LogRecord& record) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  TextScan scan(text);
  std::string_view first = scan.word();
  if (is_host_and_port(first) && std::count(scan.rest().begin(), scan.rest().end(), ' ') >= 2) {
    record.host = first.substr(0, first.rfind(':'));
    record.add_field("host", record.host);
    first = scan.word();
  }
  if (first.empty() || scan.word().empty() || scan.at_end()) return false;
  record.address = unless_dash(first);
  record.add_field("remote_addr", record.address);
  record.add_field("user", unless_dash(scan.rest()));
  return true;
}

void add_agent(std::string_view name, std::string_view header, std::string_view value, LogRecord& record) {
  record.add_field(name, unless_dash(value));
  record.add_header(header, unless_dash(value));
}

// What Traefik and nginx's "main" format write behind the user agent.
void read_rest(TextScan& scan, LogRecord& record) {
  if (const auto forwarded = scan.quoted()) {
    record.forwarded = unless_dash(*forwarded);
    record.add_field("forwarded", record.forwarded);
  } else if (!scan.at_end()) {
    record.add_field("count", scan.word());
    if (const auto router = scan.quoted()) record.add_field("router", unless_dash(*router));
    if (const auto server = scan.quoted()) record.add_field("server", unless_dash(*server));
    record.add_field("duration", scan.word());
  }
  constexpr std::array<std::string_view, 4> kExtra = {"extra_1", "extra_2", "extra_3", "extra_4"};
  for (std::size_t i = 0; i < kExtra.size() && !scan.at_end(); ++i) {
    const auto quoted = scan.quoted();
    record.add_field(kExtra[i], unless_dash(quoted ? *quoted : scan.word()));
  }
}

void add_request_fields(LogRecord& record) {
  record.add_field("method", record.method);
  record.add_field("target", record.target);
}

}  // namespace

std::string_view without_port(std::string_view address) {
  if (address.starts_with('[')) return address.substr(1, address.find(']') - 1);
  const std::size_t colon = address.find(':');
  const bool has_port = colon != std::string_view::npos && address.find(':', colon + 1) == std::string_view::npos;
  return has_port ? address.substr(0, colon) : address;
}

const char* CommonLine::parse(std::string_view line, LogRecord& record) {
  record.clear();
  const std::size_t begin = find_common_time(line);
  const std::size_t end = begin == std::string_view::npos ? begin : line.find(']', begin);
  if (end == std::string_view::npos) return kNoTime;
  const std::optional<TimePoint> time = times_.parse(line.substr(begin + 1, end - begin - 1));
  if (!time) return kBadTime;
  record.time = *time;
  if (!read_callers(line.substr(0, begin), record)) return "has no address, identity and user before the time";
  TextScan scan(line.substr(std::min(end + 2, line.size())));
  const auto request = scan.quoted();
  if (!request || !split_request(*request, record.method, record.target)) return kNoRequest;
  const std::string_view status = scan.word();
  record.status = number_in(status);
  if (record.status < 0) return kNoStatus;
  add_request_fields(record);
  record.add_field("status", status);
  record.add_field("bytes", unless_dash(scan.word()));
  if (const auto referer = scan.quoted()) add_agent("referer", "referer", *referer, record);
  if (const auto agent = scan.quoted()) add_agent("user_agent", "user-agent", *agent, record);
  if (!scan.at_end()) read_rest(scan, record);
  return nullptr;
}

const char* EnvoyLine::parse(std::string_view line, LogRecord& record) {
  record.clear();
  if (!line.starts_with('[')) return "does not begin with a time such as [2016-04-15T20:17:00.310Z]";
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos) return "does not begin with a time such as [2016-04-15T20:17:00.310Z]";
  const std::optional<TimePoint> time = parse_iso_time(line.substr(1, end - 1), *zone_);
  if (!time) return kBadTime;
  record.time = *time;
  TextScan scan(line.substr(std::min(end + 2, line.size())));
  const auto request = scan.quoted();
  if (!request || !split_request(*request, record.method, record.target)) return kNoRequest;
  const std::string_view status = scan.word();
  record.status = number_in(status);
  if (record.status < 0) return kNoStatus;
  add_request_fields(record);
  record.add_field("status", status);
  record.add_field("flags", unless_dash(scan.word()));
  // Newer versions have details of the answer, in words or quotation marks, between the flags and the bytes.
  while (!scan.at_end() && (scan.next_is('"') || number_in(scan.rest().substr(0, scan.rest().find(' '))) < 0)) {
    if (!scan.quoted()) scan.word();
  }
  constexpr std::array<std::string_view, 4> kNumbers = {"bytes_received", "bytes", "duration", "upstream_time"};
  for (const std::string_view name : kNumbers) record.add_field(name, unless_dash(scan.word()));
  if (const auto forwarded = scan.quoted()) record.forwarded = unless_dash(*forwarded);
  record.add_field("forwarded", record.forwarded);
  if (const auto agent = scan.quoted()) add_agent("user_agent", "user-agent", *agent, record);
  if (const auto id = scan.quoted()) add_agent("request_id", "x-request-id", *id, record);
  if (const auto host = scan.quoted()) record.host = unless_dash(*host);
  record.add_field("host", record.host);
  if (const auto upstream = scan.quoted()) record.add_field("upstream", unless_dash(*upstream));
  return nullptr;
}

const char* HaproxyLine::parse(std::string_view line, LogRecord& record) {
  record.clear();
  const std::size_t begin = find_common_time(line);
  const std::size_t end = begin == std::string_view::npos ? begin : line.find(']', begin);
  if (end == std::string_view::npos || begin == 0)
    return "has no address and time such as 10.0.0.1:33317 [06/Feb/2009:12:14:14.655]";
  const std::optional<TimePoint> time = parse_common_time(line.substr(begin + 1, end - begin - 1), *zone_);
  if (!time) return kBadTime;
  record.time = *time;
  std::string_view before = line.substr(0, begin - 1);
  before.remove_prefix(before.rfind(' ') + 1);  // what syslog writes
  record.address = haproxy_address(before);
  record.add_field("remote_addr", record.address);
  TextScan scan(line.substr(std::min(end + 2, line.size())));
  std::string_view frontend = scan.word();
  if (frontend.ends_with('~')) frontend.remove_suffix(1);  // it came over TLS
  record.add_field("frontend", frontend);
  const std::string_view served = scan.word();
  const std::size_t slash = served.find('/');
  if (slash == std::string_view::npos) return "has no backend/server behind the time";
  record.add_field("backend", served.substr(0, slash));
  record.add_field("server", served.substr(slash + 1));
  const std::string_view timers = scan.word();
  if (std::count(timers.begin(), timers.end(), '/') != 4)
    return "has no five times such as 10/0/30/69/109; is it `option httplog`?";
  const std::string_view status = scan.word();
  record.status = std::max<std::int64_t>(0, number_in(status));
  record.add_field("status", status);
  record.add_field("bytes", scan.word());
  const std::size_t quote = scan.rest().find('"');
  if (quote == std::string_view::npos) return kNoRequest;
  if (const std::size_t open = scan.rest().substr(0, quote).find('{'); open != std::string_view::npos) {
    const std::size_t close = scan.rest().find('}', open);
    if (close < quote) record.add_field("captured", scan.rest().substr(open + 1, close - open - 1));
  }
  TextScan last(scan.rest().substr(quote));
  const auto request = last.quoted();
  if (!request || !split_request(*request, record.method, record.target)) return kNoRequest;
  add_request_fields(record);
  return nullptr;
}

}  // namespace weir::simulate
