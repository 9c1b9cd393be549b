#include "rules/compile/descriptor_tree.h"

namespace weir::rules {

bool is_beginning(const DescriptorEntry& entry) { return entry.value && entry.value->ends_with('*'); }

std::size_t DescriptorTree::EdgeHash::operator()(const EdgeView& edge) const {
  // Values come from strangers, but the edges are the operator's: no choice of values makes a chain longer.
  const std::hash<std::string_view> hash;
  std::size_t mixed = hash(edge.value) * 31 + hash(edge.key);
  mixed = mixed * 31 + edge.from;
  return mixed * 3 + static_cast<std::size_t>(edge.kind);
}

Status DescriptorTree::add(std::span<const DescriptorEntry> descriptor, std::uint32_t rule) {
  Place place = 0;
  for (const DescriptorEntry& entry : descriptor) {
    const Place from = place;
    place = step(from, entry);
    if (places_[from].beginnings.size() > kMaxBeginnings) {
      return Failure{Code::out_of_range, "has more than " + std::to_string(kMaxBeginnings) +
                                             " values ending in * beside each other under " + entry.key};
    }
  }
  if (places_[place].rule) return Failure{Code::already_exists, "is that of another rule too"};
  places_[place].rule = rule;
  return success();
}

DescriptorTree::Place DescriptorTree::step(Place from, const DescriptorEntry& entry) {
  Edge edge{from, Kind::any, entry.key, {}};
  if (is_beginning(entry)) {
    edge.kind = Kind::beginning;
    edge.value = entry.value->substr(0, entry.value->size() - 1);
  } else if (entry.value) {
    edge.kind = Kind::equal;
    edge.value = *entry.value;
  }
  const auto [known, fresh] = edges_.try_emplace(std::move(edge), static_cast<Place>(places_.size()));
  if (!fresh) return known->second;
  places_.emplace_back();
  const Edge& made = known->first;
  if (made.kind == Kind::beginning) places_[from].beginnings.push_back({made.key, made.value, known->second});
  return known->second;
}

std::optional<DescriptorTree::Place> DescriptorTree::next(Place from, const Attribute& attribute) const {
  auto edge = edges_.find(EdgeView{from, Kind::equal, attribute.name, attribute.value});
  if (edge != edges_.end()) return edge->second;
  // A value that is written like a beginning is equal to it, whichever beginning stands first.
  if (attribute.value.ends_with('*')) {
    const std::string_view start = attribute.value.substr(0, attribute.value.size() - 1);
    edge = edges_.find(EdgeView{from, Kind::beginning, attribute.name, start});
    if (edge != edges_.end()) return edge->second;
  }
  for (const Beginning& each : places_[from].beginnings) {
    if (each.key == attribute.name && attribute.value.starts_with(each.start)) return each.to;
  }
  edge = edges_.find(EdgeView{from, Kind::any, attribute.name, {}});
  if (edge != edges_.end()) return edge->second;
  return std::nullopt;
}

std::optional<std::uint32_t> DescriptorTree::find(std::span<const Attribute> attributes) const {
  Place place = 0;
  for (const Attribute& attribute : attributes) {
    const std::optional<Place> to = next(place, attribute);
    if (!to) return std::nullopt;
    place = *to;
  }
  return places_[place].rule;
}

}  // namespace weir::rules
