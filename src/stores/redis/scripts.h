// The Lua scripts that decide inside Redis, the digests by which they are called, and what their keys begin with.
//
// Their sources are in scripts/; the build puts them together (cmake/embed_scripts.cmake). Immutable once made.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weir/allowance.h"

namespace weir::redis {

inline constexpr std::size_t kScriptCount = kAlgorithmCount + 6;
// One for each algorithm, then those for decisions of several charges, for calls with leases, and for reservations, and
// the same three for calls that are charged once.
extern const std::array<std::string_view, kScriptCount> kScriptBodies;

// "token-bucket", …, "several", "leases", "reservations", "several-once", …
std::string_view script_name(std::size_t script);

struct Script {
  std::string_view body;
  std::string sha;  // 40 hex digits
};

class ScriptSet {
 public:
  explicit ScriptSet(std::string key_prefix = "w1:");
  const Script& one(Algorithm algorithm) const { return scripts_[static_cast<std::size_t>(algorithm)]; }
  const Script& many() const { return scripts_[kAlgorithmCount]; }
  const Script& leases() const { return scripts_[kAlgorithmCount + 1]; }
  const Script& reservations() const { return scripts_[kAlgorithmCount + 2]; }
  std::span<const Script> all() const { return scripts_; }
  const std::string& key_prefix() const { return key_prefix_; }

 private:
  const std::string key_prefix_;
  std::array<Script, kScriptCount> scripts_;
};

}  // namespace weir::redis
