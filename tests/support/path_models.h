// How servers read the path of a request, each in its own way, and random spellings of a path. Tests ask: whatever
// resource a server serves for a spelling, does Weir give it that resource's route, or refuse it?
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/server_models.h"

namespace weir::identity {

struct PathReader {
  bool cuts_fragment = false;  // nginx
  bool decodes = true;         // once; some do it twice
  bool decodes_twice = false;
  bool drops_parameters = false;       // Tomcat, Jetty, Spring: ";x" before decoding
  bool drops_parameters_late = false;  // the same behind a proxy that decodes
  bool backslash_is_slash = false;     // IIS, WHATWG URLs
  bool merges_slashes = true;
  bool resolves_dots = true;
  bool ignores_case = false;            // IIS, Caddy, Express
  bool ignores_trailing_slash = false;  // Express, Rails
  bool trims_ends = false;              // Caddy, IIS: dots and spaces at the end
  bool ends_at_nul = false;

  // The path of the resource, or nothing if the server refuses the request.
  std::optional<Text> resource(std::string_view target) const {
    Text path(target.substr(0, target.find_first_of(cuts_fragment ? "?#" : "?")));
    if (path.empty() || path[0] != '/') return std::nullopt;
    if (drops_parameters) path = without_parameters(path);
    if (decodes) path = unescaped(path);
    if (decodes_twice) path = unescaped(path);
    if (drops_parameters_late) path = without_parameters(path);
    if (ends_at_nul) path = path.substr(0, path.find('\0'));
    if (backslash_is_slash) std::replace(path.begin(), path.end(), '\\', '/');
    if (trims_ends) path.resize(path.find_last_not_of(". ") + 1);
    path = cleaned(path);
    if (ignores_case) path = lowered(path);
    if (ignores_trailing_slash && path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }

 private:
  static Text without_parameters(const Text& path) {
    Text out;
    bool inside = false;
    for (const char c : path) {
      inside = c == ';' || (inside && c != '/');
      if (!inside) out += c;
    }
    return out;
  }

  Text cleaned(const Text& path) const {
    std::vector<std::string_view> kept;
    std::vector<std::string_view> segments = split(path, "/");
    segments.erase(segments.begin());
    bool open = false;
    for (const std::string_view segment : segments) {
      open = segment.empty() || (resolves_dots && (segment == "." || segment == ".."));
      if (segment.empty() && merges_slashes) continue;
      if (resolves_dots && segment == ".") continue;
      if (resolves_dots && segment == "..") {
        if (!kept.empty()) kept.pop_back();
        continue;
      }
      kept.push_back(segment);
    }
    Text out;
    for (const std::string_view segment : kept) out.append("/").append(segment);
    return open && merges_slashes ? out + "/" : out.empty() ? "/" : out;
  }
};

// Any server that can be put together from these habits.
inline PathReader any_path_reader() {
  const auto coin = [] { return *rc::gen::arbitrary<bool>(); };
  PathReader reader;
  reader.cuts_fragment = coin();
  reader.decodes_twice = coin();
  reader.drops_parameters = coin();
  reader.drops_parameters_late = coin();
  reader.backslash_is_slash = coin();
  reader.merges_slashes = coin();
  reader.resolves_dots = coin();
  reader.ignores_case = coin();
  reader.ignores_trailing_slash = coin();
  reader.trims_ends = coin();
  reader.ends_at_nul = coin();
  return reader;
}

inline Text escaped(char c) {
  constexpr char kUpper[] = "0123456789ABCDEF";
  constexpr char kLower[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  const char* digits = *rc::gen::arbitrary<bool>() ? kUpper : kLower;
  return Text("%") + digits[byte >> 4] + digits[byte & 0xf];
}

// A few changes at random places, most of which some server undoes.
inline Text respelled(Text path) {
  static const std::vector<Text> kInsertions = {
      "/",   "//",  "/./", "/x/../", "/../", ";x", ";",    "%3b", "..;/", "%20",    " ",   ".", "..", "\\",     "%5c",
      "%2f", "%2F", "%00", "%0a",    "%09",  "#f", "?q=1", "%2e", "%25",  "%c0%af", "%ff", "a", "%",  "%2e%2e/"};
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(path.size()) + 1));
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        if (at < path.size()) path.replace(at, 1, escaped(path[at]));
        break;
      case 1:
        if (at < path.size() && path[at] >= 'a' && path[at] <= 'z') path[at] = static_cast<char>(path[at] - 'a' + 'A');
        break;
      case 2:
        path += *rc::gen::elementOf(kInsertions);
        break;
      case 3:
        path.insert(0, *rc::gen::element<Text>("/", "//", "/.", "/..", "/;x", "/x/..", "\\", "/%2e"));
        break;
      default:
        path.insert(at, *rc::gen::elementOf(kInsertions));
    }
  }
  return path;
}

}  // namespace weir::identity
