#include "engine/kept_request.h"

#include <algorithm>

namespace weir::engine {
namespace {

bool is_always_kept(std::string_view name) {
  return name == "tenant" || name == "action" || name == "method" || name == "path";
}

// `names` is an entry of Rule::per: a name, or alternatives with '|' between them.
bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('|'), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

bool is_counted_by(std::string_view name, const rules::Matches& matches) {
  return std::any_of(matches.begin(), matches.end(), [&](const rules::Match& match) {
    const std::vector<std::string>& per = match.rule->source.per;
    return std::any_of(per.begin(), per.end(), [&](const std::string& names) { return lists(names, name); });
  });
}

}  // namespace

KeptRequest::KeptRequest(const Request& request, const rules::Matches& matches) {
  if (request.trace != nullptr) trace_ = *request.trace;
  std::size_t bytes = 0;
  for (const Attribute& each : request.attributes) bytes += each.name.size() + each.value.size();
  text_.reserve(std::min(bytes, kMaxBytes));
  // First those that every line needs, so that no other attribute can take their room.
  for (const Attribute& each : request.attributes) {
    if (is_always_kept(each.name)) add(each);
  }
  for (const Attribute& each : request.attributes) {
    if (!is_always_kept(each.name) && is_counted_by(each.name, matches)) add(each);
  }
}

void KeptRequest::add(const Attribute& attribute) {
  if (attribute.name.size() + attribute.value.size() > kMaxBytes - text_.size()) {
    complete_ = false;
    return;
  }
  const auto keep = [&](std::string_view text) {
    const std::size_t start = text_.size();
    text_ += text;
    return std::string_view(text_).substr(start);
  };
  const std::string_view name = keep(attribute.name);
  attributes_.push_back({name, keep(attribute.value)});
}

}  // namespace weir::engine
