// RouteTable: method and path to what the request does (its action) and what it costs.
//
//   RouteTable::create({{"GET", "/v1/items/{id}", "item.read", 1}, {"*", "/v1/*", "other", 1}});
//
// A pattern's segment is a literal or {name}, which matches any one segment that is not empty; a "*" as the last
// segment matches any rest, even an empty one, and the pattern "*" for every path. A whole pattern beats one with a
// "*"; then the leftmost literal beats a {name}; of several "*" the longest beats. A named method beats "*", and HEAD
// without a route of its own takes that of GET, as servers do.
//
// Literals are compared without their case and the dots at their end, and a slash at the end of a path or pattern does
// not count, unless PathOptions say otherwise: some servers take such paths for the same.
//
// The patterns become one automaton over segments, so matching walks the path once and never back, however the
// patterns overlap. Its size is bounded. Immutable, so thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "identity/route_path.h"
#include "weir/result.h"

namespace weir::identity {

struct Route {
  std::string method = "*";
  std::string pattern;
  std::string action;
  std::int64_t cost = 1;
};

class RouteTable {
 public:
  static constexpr std::size_t kMaxRoutes = 4096;
  static constexpr std::size_t kMaxStates = 65536;
  static constexpr std::size_t kMaxPatternSegments = 32;

  // invalid_argument names the route that is malformed or given twice.
  static Result<RouteTable> create(std::span<const Route> routes, const PathOptions& paths = {});

  // The route of a path from normal_path(), or null. The pointer lives as long as the table.
  const Route* match(std::string_view method, std::string_view path) const;

  // What {name} of the matched route matches in the path; nothing if the route has no such name.
  static std::optional<std::string_view> parameter(const Route& route, std::string_view path, std::string_view name);

  // The path of the matched route with its literals as the pattern spells them: one text for all paths that servers
  // may take for the same.
  std::string spelled(const Route& route, std::string_view path) const;
  // Whether every request has a route.
  bool has_catch_all() const;

 private:
  // Routes by method; the first that fits is the best one.
  using Choices = std::vector<std::pair<std::string, std::uint32_t>>;

  struct State {
    std::map<std::string, std::uint32_t, std::less<>> literals;
    std::uint32_t any_segment = kNowhere;
    Choices at_end;
    Choices any_rest;
  };

  class Compiler;
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  static const std::uint32_t* choose(const Choices& choices, std::string_view method);
  // What literals are compared by.
  std::string literal_key(std::string_view segment) const;
  std::string_view without_last_slash(std::string_view path) const;

  PathOptions paths_;
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> spellings_;  // by route: "/literal", or empty for a {name}; no entry for "*"
  std::vector<State> states_;                        // the first is the start
};

}  // namespace weir::identity
