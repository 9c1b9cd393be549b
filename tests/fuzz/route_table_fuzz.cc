// Any patterns, and any targets put to them: a table is refused or answers as a plain reading of its patterns does.
// Lines "method pattern" up to an empty line, then targets.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "identity/route_path.h"
#include "identity/route_table.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace weir::identity;

std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

std::vector<std::string> segments_of(std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  std::vector<std::string> segments;
  for (path.remove_prefix(1);;) {
    const bool is_last = path.find('/') == std::string_view::npos;
    segments.emplace_back(take_until(path, '/'));
    if (is_last) return segments;
  }
}

// What literals are compared by: without their case and the dots at their end.
std::string key_of(std::string_view segment) {
  std::string key(segment.substr(0, segment.find_last_not_of('.') + 1));
  for (char& c : key) c = weir::base::lower(c);
  return key;
}

// One segment after the other, with no automaton. Patterns may be spelled as paths may.
bool fits(std::string_view pattern, std::string_view path) {
  if (pattern == "*" || pattern == "/*") return true;  // "*" is a path too: that of OPTIONS
  if (path.empty() || path.front() != '/') return false;
  const std::vector<std::string> wanted = segments_of(pattern);
  const std::vector<std::string> found = segments_of(path);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i + 1 == wanted.size() && wanted[i] == "*") return true;
    if (i == found.size()) return false;
    const bool any = wanted[i].starts_with('{');
    if (any ? found[i].empty() : key_of(normal_path("/" + wanted[i])->substr(1)) != key_of(found[i])) return false;
  }
  return found.size() == wanted.size();
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
      // The path in the route's spelling is one of the route's paths, and stays as it is.
      const std::string spelled = table.value().spelled(*found, *path);
      weir::fuzz::expect(table.value().match("GET", spelled) == found);
      weir::fuzz::expect(table.value().spelled(*found, spelled) == spelled);
    }
  }
  return 0;
}
