// Actor: who changes something, and what they may do.
//
// Roles include each other: an admin may do what an operator may, and an operator what a reader may.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::control {

enum class Role : std::uint8_t {
  reader,     // looks at everything
  operator_,  // overrides, blocks, tenants, keys, resets
  admin,      // rules and tokens
};

inline constexpr std::string_view kRoleNames[] = {"reader", "operator", "admin"};

inline std::string_view role_name(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

inline std::optional<Role> role_from_name(std::string_view name) {
  for (const Role role : {Role::reader, Role::operator_, Role::admin}) {
    if (role_name(role) == name) return role;
  }
  return std::nullopt;
}

struct Actor {
  std::string name;  // of the token, "anonymous", "cert:NAME", "file", "cli:USER", "weir"
  Role role = Role::reader;
  std::string from;  // an address; "unix" for a Unix socket; empty: this process

  bool may(Role needed) const { return role >= needed; }
};

}  // namespace weir::control
