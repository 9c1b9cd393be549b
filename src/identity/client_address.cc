#include "identity/client_address.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::identity {
namespace {

constexpr std::size_t kMaxPortDigits = 5;

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPortDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Cuts the last element off `line`; nullopt if it is longer than an entry may be. Quotes are paired from the right,
// so that a quote left open by the client cannot swallow what a proxy wrote behind it.
std::optional<std::string_view> cut_last_element(std::string_view& line, bool quotes) {
  bool quoted = false;
  std::size_t start = line.size();
  while (start > 0) {
    const char c = line[start - 1];
    if (quotes && c == '"') quoted = !quoted;
    if (c == ',' && !quoted) break;
    --start;
    if (line.size() - start > ClientAddress::kMaxEntryBytes) return std::nullopt;
  }
  const std::string_view element = line.substr(start);
  line = line.substr(0, start == 0 ? 0 : start - 1);
  return base::trimmed(element);
}

// The for= node of one element of Forwarded, unquoted. Escapes inside quotes are refused: no address needs them.
std::optional<std::string_view> forwarded_for(std::string_view element) {
  std::optional<std::string_view> node;
  while (!element.empty()) {
    bool quoted = false;
    std::size_t end = 0;
    for (; end < element.size() && (quoted || element[end] != ';'); ++end) {
      if (element[end] == '\\') return std::nullopt;
      if (element[end] == '"') quoted = !quoted;
    }
    if (quoted) return std::nullopt;
    const std::string_view pair = base::trimmed(element.substr(0, end));
    element.remove_prefix(std::min(end + 1, element.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!base::same_ignoring_case(pair.substr(0, equals), "for")) continue;
    if (node) return std::nullopt;
    node = pair.substr(equals + 1);
  }
  if (!node) return std::nullopt;
  if (node->size() >= 2 && node->front() == '"' && node->back() == '"') return node->substr(1, node->size() - 2);
  return node;
}

}  // namespace

std::optional<base::IpAddress> parse_node(std::string_view text) {
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return std::nullopt;
    const std::string_view inside = text.substr(1, close - 1);
    if (inside.find(':') == std::string_view::npos) return std::nullopt;
    return base::parse_ip(inside);
  }
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    if (!is_port(text.substr(colon + 1))) return std::nullopt;
    return base::parse_ip(text.substr(0, colon));
  }
  return base::parse_ip(text);
}

Result<ClientAddress> ClientAddress::create(std::span<const std::string> trusted_proxies, ForwardingHeader header) {
  std::vector<base::IpPrefix> trusted;
  for (const std::string& text : trusted_proxies) {
    const std::optional<base::IpPrefix> prefix = base::IpPrefix::parse(text);
    if (!prefix) {
      return Failure{Code::invalid_argument,
                     "\"" + text + "\" is not an address or a prefix, expected such as 10.0.0.0/8"};
    }
    trusted.push_back(*prefix);
  }
  return ClientAddress(std::move(trusted), header);
}

bool ClientAddress::trusts(const base::IpAddress& address) const {
  return std::any_of(trusted_.begin(), trusted_.end(),
                     [&](const base::IpPrefix& prefix) { return prefix.contains(address); });
}

std::string_view ClientAddress::header_name() const {
  switch (header_) {
    case ForwardingHeader::forwarded:
      return "forwarded";
    case ForwardingHeader::x_real_ip:
      return "x-real-ip";
    default:
      return "x-forwarded-for";
  }
}

base::IpAddress ClientAddress::resolve(const base::IpAddress& peer, std::span<const std::string_view> lines) const {
  if (!trusts(peer)) return peer;
  return resolve_behind_trusted(lines).value_or(peer);
}

std::optional<base::IpAddress> ClientAddress::resolve_behind_trusted(std::span<const std::string_view> lines) const {
  const bool structured = header_ == ForwardingHeader::forwarded;
  std::optional<base::IpAddress> client;
  std::size_t hops = 0;
  for (std::size_t i = lines.size(); i-- > 0;) {
    std::string_view line = lines[i];
    while (!line.empty()) {
      if (++hops > kMaxHops) return client;
      std::optional<std::string_view> entry = cut_last_element(line, structured);
      if (entry && structured) entry = forwarded_for(*entry);
      const std::optional<base::IpAddress> hop = entry ? parse_node(*entry) : std::nullopt;
      if (!hop) return client;
      client = hop;
      if (!trusts(*hop)) return client;
    }
  }
  return client;
}

}  // namespace weir::identity
