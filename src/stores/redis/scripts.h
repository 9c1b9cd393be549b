// The Lua scripts that decide inside Redis, and the digests by which they are called.
//
// Their sources stand in scripts/; the build puts them together (cmake/embed_scripts.cmake). Immutable once made.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weir/allowance.h"

namespace weir::redis {

inline constexpr std::size_t kScriptCount = kAlgorithmCount + 1;
// One for each algorithm, then the one for decisions of several charges.
extern const std::array<std::string_view, kScriptCount> kScriptBodies;

struct Script {
  std::string_view body;
  std::string sha;  // 40 hex digits
};

class ScriptSet {
 public:
  ScriptSet();
  const Script& one(Algorithm algorithm) const { return scripts_[static_cast<std::size_t>(algorithm)]; }
  const Script& many() const { return scripts_[kAlgorithmCount]; }
  std::span<const Script> all() const { return scripts_; }

 private:
  std::array<Script, kScriptCount> scripts_;
};

}  // namespace weir::redis
