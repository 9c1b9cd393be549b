#include "simulate/log_attributes.h"

#include <algorithm>
#include <array>

#include "base/ip_address.h"
#include "base/utf8.h"
#include "simulate/text_scan.h"

namespace weir::simulate {
namespace {

// What a mapping of these names sets instead of an attribute of that name.
constexpr std::array<std::string_view, 8> kRoleNames = {"time", "ip",     "method", "path",
                                                        "host", "scheme", "cost",   "status"};
constexpr std::string_view kJwtSource = "jwt:";

bool is_role(std::string_view name) {
  return std::find(kRoleNames.begin(), kRoleNames.end(), name) != kRoleNames.end();
}

}  // namespace

Result<FieldMapping> parse_mapping(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Failure{Code::invalid_argument, "is '" + text + "', expected field=attribute, such as user=api_key"};
  }
  FieldMapping mapping{text.substr(0, equals), text.substr(equals + 1)};
  if (mapping.attribute.size() > kMaxAttributeName) {
    return Failure{Code::invalid_argument, "the attribute's name is longer than 128 bytes"};
  }
  return mapping;
}

Result<LogAttributes> LogAttributes::create(identity::IdentityOptions options, std::vector<FieldMapping> mappings) {
  LogAttributes made;
  made.ipv4_prefix_ = options.ipv4_prefix;
  made.ipv6_prefix_ = options.ipv6_prefix;
  options.jwt.reset();
  options.jwt_required = false;
  const auto is_mapped = [&](const std::string& name) {
    return std::any_of(mappings.begin(), mappings.end(),
                       [&](const FieldMapping& each) { return each.attribute == name; });
  };
  std::erase_if(options.attributes, [&](const identity::AttributeFrom& from) {
    if (!from.source.starts_with(kJwtSource)) return false;
    if (!is_mapped(from.attribute)) {
      made.notes_.push_back(
          "attribute " + from.attribute + " comes from a token (" + from.source +
          "), which logs do not contain; if the log has it elsewhere, use --map FIELD=" + from.attribute);
    }
    return true;
  });
  std::erase_if(options.accept_unverified, [&](const std::string& name) {
    return std::none_of(options.attributes.begin(), options.attributes.end(),
                        [&](const identity::AttributeFrom& from) { return from.attribute == name; });
  });
  options.takes_sent = true;
  Result<std::shared_ptr<const identity::Identity>> identity = identity::Identity::create(options);
  if (!identity.ok()) return identity.failure();
  made.identity_ = std::move(identity).value();
  for (FieldMapping& mapping : mappings) {
    if (mapping.attribute == "cost") made.cost_field_ = mapping.field;
    if (!is_role(mapping.attribute)) made.mapped_.push_back({std::move(mapping.field), std::move(mapping.attribute)});
  }
  return made;
}

const char* LogAttributes::identify(const LogRecord& record) {
  attributes_.clear();
  cost_ = Cost{};
  if (record.target.empty()) {
    add_address(record);
  } else if (const char* const refused = identify_request(record)) {
    return refused;
  }
  return add_mapped(record);
}

const char* LogAttributes::identify_request(const LogRecord& record) {
  headers_.clear();
  for (const LogField& header : record.headers) headers_.push_back({header.name, header.value});
  if (!record.forwarded.empty()) headers_.push_back({"x-forwarded-for", record.forwarded});
  identity::Inbound inbound{.method = record.method,
                            .target = record.target,
                            .headers = headers_,
                            .peer = base::parse_ip(record.address),
                            .host = record.host,
                            .scheme = record.scheme};
  if (const auto refusal = identity_->identify(inbound, record.time, caller_)) {
    refusal_.assign(refusal->text);
    return refusal_.c_str();
  }
  const std::span<const Attribute> made = caller_.attributes();
  attributes_.assign(made.begin(), made.end());
  cost_ = caller_.cost();
  return nullptr;
}

void LogAttributes::add_address(const LogRecord& record) {
  const std::optional<base::IpAddress> address = base::parse_ip(record.address);
  if (!address) return;
  address_ = base::ip_text(base::network_of(*address, address->is_v4() ? ipv4_prefix_ : ipv6_prefix_));
  attributes_.push_back({"ip", address_});
}

const char* LogAttributes::add_mapped(const LogRecord& record) {
  const auto value_of = [&](std::string_view field) -> std::string_view {
    for (const LogField& each : record.fields) {
      if (each.name == field) return each.value;
    }
    return {};
  };
  for (const Mapped& mapped : mapped_) {
    const std::string_view value = value_of(mapped.field);
    if (value.empty()) continue;
    if (value.size() > kMaxAttributeValue) return "has a mapped field that is longer than an attribute may be";
    const auto known = std::find_if(attributes_.begin(), attributes_.end(),
                                    [&](const Attribute& each) { return each.name == mapped.attribute; });
    if (known != attributes_.end()) {
      known->value = value;
    } else if (attributes_.size() < kMaxAttributes) {
      attributes_.push_back({mapped.attribute, value});
    }
  }
  const std::string_view cost = !record.cost.empty()  ? record.cost
                                : cost_field_.empty() ? std::string_view{}
                                                      : value_of(cost_field_);
  if (cost.empty()) return nullptr;
  cost_.units = number_in(cost);
  if (cost_.units < 0 || cost_.units > kMaxUnits)
    return "has a cost that is not a whole number from 0 to 1000000000000";
  return nullptr;
}

}  // namespace weir::simulate
