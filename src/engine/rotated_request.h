// RotatedRequest: one request as each of the two limiters of a rotation (rotating_limiter.h) is to see it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "weir/request.h"
#include "weir/trace.h"

namespace weir::engine {

// An attribute "name@previous" is what "name" was under the previous key.
inline constexpr std::string_view kPreviousSuffix = "@previous";

inline bool is_of_previous(const Attribute& attribute) { return attribute.name.ends_with(kPreviousSuffix); }

inline std::string_view previous_value(std::span<const Attribute> all, const Attribute& attribute) {
  for (const Attribute& other : all) {
    if (!is_of_previous(other)) continue;
    if (other.name.substr(0, other.name.size() - kPreviousSuffix.size()) == attribute.name) {
      return other.value;
    }
  }
  return attribute.value;
}

// Refers to the request's strings until keep(). Requests out of bounds reach the limiters as they are, to be refused
// there.
class RotatedRequest {
 public:
  explicit RotatedRequest(const Request& request) : previous(request), current(request) {
    if (request.once) previous.once.id.low ^= 1;  // two calls, each charged once
    const std::span<const Attribute> all = request.attributes;
    if (all.size() > kMaxAttributes || std::none_of(all.begin(), all.end(), is_of_previous)) return;
    const std::span<const Attribute> derived = all.subspan(request.sent().size());
    const auto dropped = std::count_if(derived.begin(), derived.end(), is_of_previous);
    previous.derived = current.derived = derived.size() - static_cast<std::size_t>(dropped);
    for (const Attribute& attribute : all) {
      if (is_of_previous(attribute)) continue;
      current_attributes_.push_back(attribute);
      previous_attributes_.push_back({attribute.name, previous_value(all, attribute)});
    }
    refer();
  }

  // From here on the caller's strings are not needed. The object must not move afterwards.
  void keep() {
    if (previous.attributes.data() == current.attributes.data()) {
      previous_attributes_.assign(previous.attributes.begin(), previous.attributes.end());
      current_attributes_ = previous_attributes_;
    }
    std::size_t size = 0;
    for (const auto* list : {&previous_attributes_, &current_attributes_}) {
      for (const Attribute& attribute : *list) size += attribute.name.size() + attribute.value.size();
    }
    if (previous.by_operator != nullptr) {
      for (const std::string_view rule : previous.by_operator->rules) size += rule.size();
    }
    text_.reserve(size);  // so that it never moves
    for (auto* list : {&previous_attributes_, &current_attributes_}) {
      for (Attribute& attribute : *list) attribute = {keep(attribute.name), keep(attribute.value)};
    }
    if (previous.by_operator != nullptr) keep_view(*previous.by_operator);
    if (previous.trace != nullptr) {
      trace_ = *previous.trace;
      previous.trace = current.trace = &trace_;
    }
    refer();
  }

  Request previous;
  Request current;

 private:
  std::string_view keep(std::string_view text) {
    const std::size_t start = text_.size();
    text_ += text;
    return std::string_view(text_).substr(start);
  }
  void keep_view(const OperatorView& view) {
    for (const std::string_view rule : view.rules) viewed_.push_back(keep(rule));
    view_ = {viewed_};
    previous.by_operator = current.by_operator = &view_;
  }
  void refer() {
    previous.attributes = previous_attributes_;
    current.attributes = current_attributes_;
  }

  std::vector<Attribute> previous_attributes_;
  std::vector<Attribute> current_attributes_;
  std::string text_;
  TraceContext trace_;
  std::vector<std::string_view> viewed_;
  OperatorView view_;
};

}  // namespace weir::engine
