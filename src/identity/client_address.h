// ClientAddress: which address a request comes from, when proxies are in between.
//
// Each proxy appends the address it was called from to X-Forwarded-For (or Forwarded, RFC 7239), so only the right end
// of the list is known to be true, and only as far as we trust those who wrote it. The list is read from the right:
// the first address that is not one of ours is the client. An entry that cannot be read ends the walk at the last hop
// we could name. From a peer that is not trusted the headers are not read at all.
//
// Which of the headers counts is a setting, not a guess: a proxy that writes one of them passes the others on just as
// the client sent them. X-Real-IP is a list of one: the proxy that writes it overwrites what was there.
//
// Work is bounded by kMaxHops entries of kMaxEntryBytes, however long the header is. Immutable, so thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "weir/result.h"

namespace weir::identity {

enum class ForwardingHeader : std::uint8_t { x_forwarded_for, forwarded, x_real_ip };

class ClientAddress {
 public:
  static constexpr std::size_t kMaxHops = 32;
  static constexpr std::size_t kMaxEntryBytes = 256;

  // `trusted_proxies` are addresses or prefixes; invalid_argument names the one that is neither.
  static Result<ClientAddress> create(std::span<const std::string> trusted_proxies,
                                      ForwardingHeader header = ForwardingHeader::x_forwarded_for);

  bool trusts(const base::IpAddress& address) const;
  // The header whose lines resolve() wants, in lower case.
  std::string_view header_name() const;

  // `lines` are the header's values in the order they came in.
  base::IpAddress resolve(const base::IpAddress& peer, std::span<const std::string_view> lines) const;
  // For a peer that has no address but is trusted, such as a local proxy on a Unix socket.
  std::optional<base::IpAddress> resolve_behind_trusted(std::span<const std::string_view> lines) const;

 private:
  ClientAddress(std::vector<base::IpPrefix> trusted, ForwardingHeader header)
      : trusted_(std::move(trusted)), header_(header) {}

  std::vector<base::IpPrefix> trusted_;
  ForwardingHeader header_;
};

// One entry of X-Forwarded-For or a node of Forwarded: an address, perhaps with a port. "unknown" and "_hidden" are
// no addresses.
std::optional<base::IpAddress> parse_node(std::string_view text);

}  // namespace weir::identity
