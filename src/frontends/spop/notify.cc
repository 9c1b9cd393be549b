#include "frontends/spop/notify.h"

#include <optional>

#include "base/attributes.h"

namespace weir::spop {

NotifyReader::Found NotifyReader::read(std::string_view payload, Request& request) {
  count_ = 0;
  texts_.clear(kMaxAttributes);
  request = {};
  bool acceptable = true;
  bool tells_of_client = false;
  const bool whole = each_argument(payload, [&](std::string_view name, const Value& value) {
    tells_of_client = tells_of_client || name == kHeadersArgument;
    acceptable = acceptable && !tells_of_client && take(name, value, request);
  });
  if (!whole) return Found::malformed;
  if (tells_of_client) return Found::client;
  request.attributes = {attributes_.data(), count_};
  return acceptable ? Found::request : Found::unacceptable;
}

// False: the argument cannot be part of a request.
bool NotifyReader::take(std::string_view name, const Value& value, Request& request) {
  if (value.type == ValueType::null) return true;
  if (name == "cost") {
    const std::optional<std::int64_t> cost = cost_of(value);
    if (cost) request.cost.units = *cost;
    return cost.has_value();
  }
  if (name == "peek") {
    request.peek = is_true(value);
    return true;
  }
  if (!base::attribute_name_fault(name).empty() || count_ == kMaxAttributes) return false;
  const std::string_view text = texts_.of(value);
  if (!base::attribute_value_fault(text).empty()) return false;
  attributes_[count_++] = {name == "src" ? std::string_view("ip") : name, text};
  return true;
}

}  // namespace weir::spop
