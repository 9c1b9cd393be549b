#include "identity/route_table.h"

#include <algorithm>
#include <set>

#include "base/ascii.h"

namespace weir::identity {
namespace {

// Cuts the first segment and its slash off a path. Precondition: it begins with a slash.
std::string_view cut_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

bool is_parameter(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

Failure unfit(const Route& route, const char* why) {
  return {Code::invalid_argument, "route \"" + route.method + " " + route.pattern + "\": " + why};
}

}  // namespace

// First a tree of the patterns, then the automaton whose states are sets of the tree's nodes, best first: all places
// where the segments read so far may have led.
class RouteTable::Compiler {
 public:
  explicit Compiler(RouteTable& table) : table_(table), tree_(1) {}

  Status add(std::uint32_t index) {
    const Route& route = table_.routes_[index];
    std::uint32_t node = 0;
    bool open = route.pattern == "*";
    std::string_view rest = open ? std::string_view{} : table_.without_last_slash(route.pattern);
    if (!open && !rest.starts_with('/')) return unfit(route, "must begin with / or be *");
    for (std::size_t count = 1; !rest.empty(); ++count) {
      if (count > kMaxPatternSegments) return unfit(route, "has too many segments");
      const std::string_view segment = cut_segment(rest);
      if (segment == "*") {
        if (!rest.empty() || !route.pattern.ends_with('*')) {
          return unfit(route, "has a * that is not its last segment");
        }
        open = true;
      } else if (is_parameter(segment)) {
        table_.spellings_[index].emplace_back();
        node = child(tree_[node].parameter, [&](std::uint32_t made) { tree_[node].parameter = made; });
      } else {
        if (segment.find_first_of("{}*?#;") != std::string_view::npos) {
          return unfit(route, "has a segment that is neither a literal nor {name}");
        }
        if (segment.empty() && !rest.empty()) return unfit(route, "has an empty segment");
        const std::optional<std::string> literal = normal_path("/" + std::string(segment), table_.paths_.encoded_slash);
        if (!literal) return unfit(route, "has a segment that no path can have");
        const std::string text = table_.literal_key(literal->substr(1));
        table_.spellings_[index].push_back(*literal);
        const auto known = tree_[node].literals.find(text);
        node = child(known == tree_[node].literals.end() ? kNowhere : known->second,
                     [&](std::uint32_t made) { tree_[node].literals.emplace(text, made); });
      }
    }
    auto& routes = open ? tree_[node].any_rest : tree_[node].at_end;
    if (!routes.emplace(route.method, index).second) return unfit(route, "another route has the same pattern");
    return success();
  }

  Status build() {
    state_of({0});
    for (std::uint32_t next = 0; next < table_.states_.size(); ++next) {
      if (table_.states_.size() > kMaxStates) {
        return Failure{Code::invalid_argument, "the routes overlap too much; use fewer {name} before literals"};
      }
      expand(next);
    }
    return success();
  }

 private:
  using Nodes = std::vector<std::uint32_t>;

  struct Node {
    std::map<std::string, std::uint32_t> literals;
    std::uint32_t parameter = kNowhere;
    std::map<std::string, std::uint32_t> at_end;  // method to route
    std::map<std::string, std::uint32_t> any_rest;
  };

  template <typename Link>
  std::uint32_t child(std::uint32_t known, Link link) {
    if (known != kNowhere) return known;
    tree_.emplace_back();
    const auto made = static_cast<std::uint32_t>(tree_.size() - 1);
    link(made);
    return made;
  }

  std::uint32_t state_of(const Nodes& nodes) {
    if (nodes.empty()) return kNowhere;
    const auto [at, is_new] = numbers_.emplace(nodes, static_cast<std::uint32_t>(table_.states_.size()));
    if (is_new) {
      table_.states_.emplace_back();
      members_.push_back(nodes);
    }
    return at->second;
  }

  // A named method before "*", better nodes before others; what can never be chosen is left out.
  static void append(Choices& choices, const std::map<std::string, std::uint32_t>& routes) {
    const auto add_once = [&](const std::string& method, std::uint32_t route) {
      for (const auto& [known, ignored] : choices) {
        if (known == method || known == "*") return;
      }
      choices.emplace_back(method, route);
    };
    for (const auto& [method, route] : routes) {
      if (method != "*") add_once(method, route);
    }
    if (const auto get = routes.find("GET"); get != routes.end()) add_once("HEAD", get->second);
    if (const auto any = routes.find("*"); any != routes.end()) add_once(any->first, any->second);
  }

  void expand(std::uint32_t number) {
    const Nodes nodes = members_[number];
    std::set<std::string> texts;
    Nodes others;
    for (const std::uint32_t node : nodes) {
      for (const auto& [text, ignored] : tree_[node].literals) texts.insert(text);
      if (tree_[node].parameter != kNowhere) others.push_back(tree_[node].parameter);
      append(table_.states_[number].at_end, tree_[node].at_end);
      append(table_.states_[number].any_rest, tree_[node].any_rest);
    }
    for (const std::string& text : texts) {
      Nodes reached;
      for (const std::uint32_t node : nodes) {
        const auto literal = tree_[node].literals.find(text);
        if (literal != tree_[node].literals.end()) reached.push_back(literal->second);
        // An empty segment is no {name}.
        if (!text.empty() && tree_[node].parameter != kNowhere) reached.push_back(tree_[node].parameter);
      }
      const std::uint32_t to = state_of(reached);
      table_.states_[number].literals.emplace(text, to);
    }
    const std::uint32_t to = state_of(others);
    table_.states_[number].any_segment = to;
  }

  RouteTable& table_;
  std::vector<Node> tree_;
  std::map<Nodes, std::uint32_t> numbers_;
  std::vector<Nodes> members_;  // by state
};

Result<RouteTable> RouteTable::create(std::span<const Route> routes, const PathOptions& paths) {
  if (routes.size() > kMaxRoutes) {
    return Failure{Code::invalid_argument, "more than " + std::to_string(kMaxRoutes) + " routes"};
  }
  RouteTable table;
  table.paths_ = paths;
  table.routes_.assign(routes.begin(), routes.end());
  table.spellings_.resize(routes.size());
  Compiler compiler(table);
  for (std::uint32_t i = 0; i < table.routes_.size(); ++i) {
    const Route& route = table.routes_[i];
    if (route.method.empty() || route.action.empty()) return unfit(route, "must have a method (or *) and an action");
    if (route.cost < 0) return unfit(route, "has a negative cost");
    if (Status added = compiler.add(i); !added.ok()) return added.failure();
  }
  if (Status built = compiler.build(); !built.ok()) return built.failure();
  return table;
}

std::string RouteTable::literal_key(std::string_view segment) const {
  std::string key(segment);
  key.resize(key.find_last_not_of('.') + 1);
  if (!paths_.case_sensitive) std::transform(key.begin(), key.end(), key.begin(), base::lower);
  return key;
}

std::string_view RouteTable::without_last_slash(std::string_view path) const {
  const bool ignored = paths_.trailing_slash == TrailingSlash::ignore && path.size() > 1 && path.ends_with('/');
  return ignored ? path.substr(0, path.size() - 1) : path;
}

const std::uint32_t* RouteTable::choose(const Choices& choices, std::string_view method) {
  for (const auto& [known, route] : choices) {
    if (known == method || known == "*") return &route;
  }
  return nullptr;
}

const Route* RouteTable::match(std::string_view method, std::string_view path) const {
  path = without_last_slash(path);
  const std::uint32_t* best = nullptr;
  std::uint32_t at = 0;
  while (at != kNowhere) {
    const State& state = states_[at];
    // "/v1/*" is reached at "/v1" only if a slash follows, or if slashes at the end do not count.
    const bool has_rest = !path.empty() || paths_.trailing_slash == TrailingSlash::ignore;
    const std::uint32_t* open = has_rest ? choose(state.any_rest, method) : nullptr;
    if (open != nullptr) best = open;
    if (path.empty()) {
      if (const std::uint32_t* whole = choose(state.at_end, method)) best = whole;
      break;
    }
    if (path[0] != '/') break;
    const std::string_view segment = cut_segment(path);
    const auto literal = state.literals.find(literal_key(segment));
    at = literal != state.literals.end() ? literal->second : segment.empty() ? kNowhere : state.any_segment;
  }
  return best == nullptr ? nullptr : &routes_[*best];
}

std::optional<std::string_view> RouteTable::parameter(const Route& route, std::string_view path,
                                                      std::string_view name) {
  std::string_view pattern = route.pattern == "*" ? std::string_view{} : std::string_view(route.pattern);
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = cut_segment(pattern);
    const std::string_view found = cut_segment(path);
    if (is_parameter(wanted) && wanted.substr(1, wanted.size() - 2) == name) return found;
  }
  return std::nullopt;
}

std::string RouteTable::spelled(const Route& route, std::string_view path) const {
  std::string text;
  for (const std::string& segment : spellings_[static_cast<std::size_t>(&route - routes_.data())]) {
    const std::string_view found = path.empty() ? path : cut_segment(path);
    text += segment.empty() ? "/" + std::string(found) : segment;
  }
  const bool is_open = route.pattern.ends_with('*');
  if (is_open) return text.append(path.empty() ? "/" : path);
  if (route.pattern.size() > 1 && route.pattern.ends_with('/') && !text.ends_with('/')) text += '/';
  return text;
}

bool RouteTable::has_catch_all() const {
  return std::any_of(routes_.begin(), routes_.end(), [](const Route& route) {
    return route.method == "*" && (route.pattern == "*" || route.pattern == "/*");
  });
}

}  // namespace weir::identity
