#include "rules/compile/intake.h"

#include <algorithm>

namespace weir::rules {

const Request& CompletedRequest::complete(const Request& request, const PlanTable& plans) {
  const std::string* plan = nullptr;
  for (const Attribute& attribute : request.attributes) {
    if (attribute.name == "plan") return request;
    if (plan == nullptr && attribute.name == "tenant") plan = plans.find(attribute.value);
  }
  if (plan == nullptr || request.attributes.size() >= kMaxAttributes) return request;
  const std::size_t count = request.attributes.size();
  std::copy(request.attributes.begin(), request.attributes.end(), attributes_.begin());
  attributes_[count] = {"plan", *plan};
  completed_ = request;
  completed_.attributes = std::span<const Attribute>(attributes_.data(), count + 1);
  completed_.derived = request.derived + 1;
  return completed_;
}

}  // namespace weir::rules
