// Any patterns, and any targets put to them: a table is refused or answers as a plain reading of its patterns does.
// Lines "method pattern" up to an empty line, then targets.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "identity/caller/route_path.h"
#include "identity/caller/route_table.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace weir::identity;

std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

// One segment after the other, with no automaton. Patterns may be spelled as paths may.
bool fits(std::string_view pattern, std::string_view path) {
  if (pattern == "*" || pattern == "/*") return true;  // "*" is a path too: that of OPTIONS
  if (path.empty() || path.front() != '/') return false;
  for (pattern.remove_prefix(1), path.remove_prefix(1);;) {
    const bool pattern_ends = pattern.find('/') == std::string_view::npos;
    const bool path_ends = path.find('/') == std::string_view::npos;
    const std::string_view want = take_until(pattern, '/');
    const std::string_view have = take_until(path, '/');
    if (pattern_ends && want == "*") return true;
    const bool any = want.starts_with('{');
    if (any ? have.empty() : normal_path("/" + std::string(want)) != "/" + std::string(have)) return false;
    if (pattern_ends || path_ends) return pattern_ends && path_ends;
  }
}

bool fits(const Route& route, std::string_view method, std::string_view path) {
  return (route.method == "*" || route.method == method) && fits(route.pattern, path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Route> routes;
  while (routes.size() < 64) {
    std::string_view line = take_until(text, '\n');
    if (line.empty()) break;
    const std::string method(take_until(line, ' '));
    routes.push_back({method, std::string(line), std::to_string(routes.size()), 1});
  }
  const auto table = RouteTable::create(routes);
  if (!table.ok()) {
    weir::fuzz::expect(!table.failure().message.empty());
    return 0;
  }
  while (!text.empty()) {
    const auto path = normal_path(take_until(text, '\n'));
    if (!path) continue;
    const Route* found = table.value().match("GET", *path);
    bool any = false;
    for (const Route& route : routes) any = any || fits(route, "GET", *path);
    weir::fuzz::expect((found != nullptr) == any);
    if (found != nullptr) {
      weir::fuzz::expect(fits(*found, "GET", *path));
      static_cast<void>(RouteTable::parameter(*found, *path, "id"));
    }
  }
  return 0;
}
