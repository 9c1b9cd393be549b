// DescriptorTree: the rules that have a descriptor, as the tree that envoyproxy/ratelimit walks.
//
// At each place of the request an equal key and value is preferred to a value's beginning (the first that fits, in the
// order of the rules), and that to the key alone. There is no way back: a branch that was taken and leads nowhere
// ends the search. The rule must stand exactly where the request ends. The cost of a search grows with the length of
// the request and with the beginnings at one place, not with the number of rules.
//
// Built once, then read by any number of threads; a search does not allocate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/request.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir::rules {

// Beginnings are tried one after the other, so their number at one place is bounded.
inline constexpr std::size_t kMaxBeginnings = 1'000;

// Whether the value is only the beginning of those meant.
bool is_beginning(const DescriptorEntry& entry);

class DescriptorTree {
 public:
  DescriptorTree() : places_(1) {}

  // The failure's message fits behind "descriptor: ". Precondition: the descriptor is not empty.
  Status add(std::span<const DescriptorEntry> descriptor, std::uint32_t rule);

  bool empty() const { return places_.size() == 1; }
  // The rule that the attributes lead to.
  std::optional<std::uint32_t> find(std::span<const Attribute> attributes) const;

 private:
  using Place = std::uint32_t;

  enum class Kind : std::uint8_t { equal, beginning, any };  // what the value is

  struct EdgeView {
    Place from = 0;
    Kind kind = Kind::equal;
    std::string_view key;
    std::string_view value;
    friend bool operator==(const EdgeView&, const EdgeView&) = default;
  };
  struct Edge {
    Place from = 0;
    Kind kind = Kind::equal;
    std::string key;
    std::string value;
    EdgeView view() const { return {from, kind, key, value}; }
  };
  struct EdgeHash {
    using is_transparent = void;
    std::size_t operator()(const EdgeView& edge) const;
    std::size_t operator()(const Edge& edge) const { return (*this)(edge.view()); }
  };
  struct EdgeEqual {
    using is_transparent = void;
    static EdgeView view(const EdgeView& edge) { return edge; }
    static EdgeView view(const Edge& edge) { return edge.view(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return view(a) == view(b);
    }
  };
  struct Beginning {
    std::string key;
    std::string start;
    Place to = 0;
  };
  struct Node {
    std::optional<std::uint32_t> rule;
    std::vector<Beginning> beginnings;
  };

  Place step(Place from, const DescriptorEntry& entry);  // the place behind the entry, made if need be
  std::optional<Place> next(Place from, const Attribute& attribute) const;

  std::vector<Node> places_;  // the first is the root
  std::unordered_map<Edge, Place, EdgeHash, EdgeEqual> edges_;
};

}  // namespace weir::rules
