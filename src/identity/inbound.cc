#include "identity/inbound.h"

namespace weir::identity {

std::optional<std::string_view> CallerAttributes::find(std::string_view name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return attribute.value;
  }
  return std::nullopt;
}

void CallerAttributes::clear() {
  text_.clear();
  pieces_.clear();
  attributes_.clear();
  cost_ = Cost{};
  keys_.reset();
}

bool CallerAttributes::add(std::string_view name, std::string_view value) {
  if (pieces_.size() == kMaxAttributes || value.size() > kMaxAttributeValue) return false;
  if (value.find('\0') != std::string_view::npos) return false;
  pieces_.push_back({name, text_.size(), value.size()});
  text_ += value;
  return true;
}

bool CallerAttributes::set(std::string_view name, std::string_view value) {
  std::erase_if(pieces_, [&](const Piece& piece) { return piece.name == name; });
  return add(name, value);
}

void CallerAttributes::finish(Cost cost) {
  for (const Piece& piece : pieces_) {
    attributes_.push_back({piece.name, std::string_view(text_).substr(piece.start, piece.length)});
  }
  cost_ = cost;
}

}  // namespace weir::identity
