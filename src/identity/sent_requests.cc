#include "identity/sent_requests.h"

#include <algorithm>

namespace weir::identity {

void SentRequests::clear() {
  texts_.release();
  attributes_.clear();
  ranges_.clear();
  tokens_.clear();
}

std::span<const Attribute> SentRequests::attributes(std::size_t i) const {
  return std::span(attributes_).subspan(ranges_[i].first, ranges_[i].size);
}

std::string_view SentRequests::keep(std::string_view text) { return keep_joined(text, {}); }

std::string_view SentRequests::keep_joined(std::string_view a, std::string_view b) {
  if (a.empty() && b.empty()) return {};
  char* const place = static_cast<char*>(texts_.allocate(a.size() + b.size(), 1));
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), place));
  return {place, a.size() + b.size()};
}

}  // namespace weir::identity
