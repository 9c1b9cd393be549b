#include "frontends/envoy/rls.h"

#include <array>

#include "base/attributes.h"
#include "weir/allowance.h"

namespace weir::envoy {
namespace {

using std::chrono::hours;

struct UnitFacts {
  std::string_view name;
  Duration window;
};

// Indexed by RlsUnit.
constexpr std::array<UnitFacts, 8> kUnits = {{
    {"UNKNOWN", Duration{0}},
    {"SECOND", std::chrono::seconds(1)},
    {"MINUTE", std::chrono::minutes(1)},
    {"HOUR", hours(1)},
    {"DAY", hours(24)},
    {"MONTH", hours(24 * 30)},
    {"YEAR", hours(24 * 365)},
    {"WEEK", hours(24 * 7)},
}};
constexpr std::int32_t kLastOverrideUnit = 6;

Failure invalid(std::string message) { return {Code::invalid_argument, std::move(message)}; }

Status check_attributes(std::span<const Attribute> attributes) {
  for (const Attribute& attribute : attributes) {
    // An empty key is allowed here.
    const std::string_view key_fault = base::attribute_name_fault(attribute.name);
    if (!key_fault.empty() && !attribute.name.empty()) return invalid("a descriptor key " + std::string(key_fault));
    const std::string_view value_fault = base::attribute_value_fault(attribute.value);
    if (!value_fault.empty()) return invalid("a descriptor value " + std::string(value_fault));
  }
  return success();
}

Status check_descriptor(const RlsDescriptor& descriptor) {
  // An override's bucket is named by unit and domain and by keys and values one after the other.
  const std::size_t most = descriptor.has_override ? (kMaxAttributes - 2) / 2 : kMaxAttributes - 1;
  if (descriptor.entries > most) return invalid("a descriptor has more than " + std::to_string(most) + " entries");
  if (descriptor.has_override && (descriptor.override_unit < 1 || descriptor.override_unit > kLastOverrideUnit)) {
    return invalid("the unit of a limit override is not known");
  }
  return success();
}

}  // namespace

Duration unit_window(RlsUnit unit) { return kUnits[static_cast<std::size_t>(unit)].window; }

RlsUnit unit_of(Duration window) {
  for (std::size_t i = 1; i < kUnits.size(); ++i) {
    if (kUnits[i].window == window) return static_cast<RlsUnit>(i);
  }
  return RlsUnit::unknown;
}

std::string_view unit_name(RlsUnit unit) { return kUnits[static_cast<std::size_t>(unit)].name; }

void RlsRequest::clear() {
  domain = {};
  hits_addend = 0;
  attributes.clear();
  descriptors.clear();
  ingress = {};
  trace = nullptr;
}

void RlsRequest::spread_domain() {
  for (const RlsDescriptor& descriptor : descriptors) attributes[descriptor.first] = {"domain", domain};
}

Status RlsRequest::check() const {
  if (domain.empty()) return invalid("rate limit domain must not be empty");
  if (descriptors.empty()) return invalid("rate limit descriptor list must not be empty");
  if (descriptors.size() > kMaxDescriptors) {
    return invalid("more than " + std::to_string(kMaxDescriptors) + " descriptors");
  }
  if (Status status = check_attributes(attributes); !status.ok()) return status;
  for (const RlsDescriptor& descriptor : descriptors) {
    if (Status status = check_descriptor(descriptor); !status.ok()) return status;
  }
  return success();
}

void RlsAnswer::clear() {
  over_limit = false;
  statuses.clear();
  for (std::string& header : headers) header.clear();
  body.clear();
  weir_status.clear();
}

std::optional<RlsRefusal> identify(transport::RequestIdentity& identity, RlsRequest& request) {
  std::vector<RlsDescriptor>& descriptors = request.descriptors;
  if (descriptors.empty() || descriptors.size() > kMaxDescriptors) return std::nullopt;  // check() refuses the call
  identity.begin();
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto refusal = identity.add_descriptor(request.attributes_of(descriptors[i]).subspan(1));
    if (refusal) return RlsRefusal{i, refusal->malformed};
  }
  if (const auto refusal = identity.end_descriptors()) return RlsRefusal{0, refusal->malformed};
  request.attributes.clear();
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto [attributes, derived] = identity.identified(i);
    if (derived > 0 && attributes.size() >= kMaxAttributes) return RlsRefusal{i, /*malformed=*/true};
    descriptors[i].first = request.attributes.size();
    descriptors[i].entries = attributes.size() - derived;
    descriptors[i].derived = derived;
    request.attributes.push_back({"domain", request.domain});
    request.attributes.insert(request.attributes.end(), attributes.begin(), attributes.end());
  }
  return std::nullopt;
}

RlsAnswer refusal_answer(const RlsRefusal& refusal, std::size_t descriptors) {
  RlsAnswer answer;
  answer.over_limit = true;
  answer.statuses.resize(descriptors);
  answer.statuses[refusal.descriptor].over_limit = true;
  answer.weir_status = refusal.malformed ? "400" : "403";
  return answer;
}

}  // namespace weir::envoy
