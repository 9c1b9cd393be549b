#include "frontends/envoy/rls_json.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/json_text.h"

namespace weir::envoy {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

Failure wrong(std::string_view member, std::string_view expected) {
  return {Code::invalid_argument, std::string(member) + ": expected " + std::string(expected)};
}

Failure unknown(std::string_view member) { return {Code::invalid_argument, std::string(member) + ": unknown member"}; }

bool is_null(const element& value) { return value.type() == element_type::NULL_VALUE; }

std::optional<std::uint64_t> at_most(std::uint64_t number, std::uint64_t most) {
  return number <= most ? std::optional(number) : std::nullopt;
}

template <typename Number>
bool read_whole_text(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// 7, "7", 7.0 and 70e-1 are one number in protobuf's JSON. Where a point or an exponent is used, up to 2^53.
std::optional<std::uint64_t> read_number(const element& value, std::uint64_t most) {
  constexpr double kMostExact = 9'007'199'254'740'992;
  std::uint64_t number = 0;
  double fraction = 0;
  if (value.get(number) == simdjson::SUCCESS) return at_most(number, most);
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) {
    if (read_whole_text(text, number)) return at_most(number, most);
    if (!read_whole_text(text, fraction)) return std::nullopt;
  } else if (value.get(fraction) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  if (!(fraction >= 0 && fraction <= kMostExact) || std::floor(fraction) != fraction) return std::nullopt;
  return at_most(static_cast<std::uint64_t>(fraction), most);
}

Status read_text(std::string_view member, const element& value, std::string_view& text) {
  if (value.get(text) != simdjson::SUCCESS) return wrong(member, "a string");
  return success();
}

Status read_small(std::string_view member, const element& value, std::uint32_t& number) {
  const auto read = read_number(value, std::numeric_limits<std::uint32_t>::max());
  if (!read) return wrong(member, "a whole number below 2^32");
  number = static_cast<std::uint32_t>(*read);
  return success();
}

// hits_addend and hitsAddend are one member with two names.
bool same_member(std::string_view a, std::string_view b) {
  const auto spell = [](std::string_view name) {
    std::string plain;
    for (const char c : name) {
      if (c != '_') plain += base::lower(c);
    }
    return plain;
  };
  return a == b || spell(a) == spell(b);
}

// Calls `member(name, value)` for each member that is not null. A duplicate is refused: another reader
// may take the other one. All members are known, so there are few to compare with.
template <typename Member>
Status read_object(std::string_view what, const element& value, Member member) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return wrong(what, "an object");
  std::vector<std::string_view> seen;
  for (const auto& [name, inner] : object) {
    if (is_null(inner)) continue;
    for (const std::string_view other : seen) {
      if (same_member(other, name)) return Failure{Code::invalid_argument, std::string(name) + ": is given twice"};
    }
    seen.push_back(name);
    if (Status status = member(name, inner); !status.ok()) return status;
  }
  return success();
}

template <typename Item>
Status read_array(std::string_view what, const element& value, Item item) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return wrong(what, "an array");
  for (const element inner : array) {
    if (Status status = item(inner); !status.ok()) return status;
  }
  return success();
}

Status read_entry(const element& value, Attribute& entry) {
  return read_object("entries", value, [&](std::string_view name, const element& inner) -> Status {
    if (name == "key") return read_text(name, inner, entry.name);
    if (name == "value") return read_text(name, inner, entry.value);
    return unknown(name);
  });
}

Status read_unit(const element& value, std::int32_t& unit) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) {
    std::uint32_t number = 0;
    if (Status status = read_small("unit", value, number); !status.ok()) return status;
    unit = static_cast<std::int32_t>(number);
    return success();
  }
  for (std::int32_t i = 0; i <= static_cast<std::int32_t>(RlsUnit::year); ++i) {
    if (unit_name(static_cast<RlsUnit>(i)) != text) continue;
    unit = i;
    return success();
  }
  return wrong("unit", "SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
}

Status read_override(const element& value, RlsDescriptor& descriptor) {
  descriptor.has_override = true;
  return read_object("limit", value, [&](std::string_view name, const element& inner) -> Status {
    if (name == "requestsPerUnit" || name == "requests_per_unit") {
      return read_small(name, inner, descriptor.override_limit);
    }
    if (name == "unit") return read_unit(inner, descriptor.override_unit);
    return unknown(name);
  });
}

Status read_descriptor(const element& value, RlsRequest& request) {
  RlsDescriptor descriptor;
  descriptor.first = request.attributes.size();
  request.attributes.emplace_back();
  Status status = read_object("descriptors", value, [&](std::string_view name, const element& inner) -> Status {
    if (name == "entries") {
      return read_array(name, inner, [&](const element& entry) {
        ++descriptor.entries;
        return read_entry(entry, request.attributes.emplace_back());
      });
    }
    if (name == "limit") return read_override(inner, descriptor);
    if (name == "hitsAddend" || name == "hits_addend") {
      const auto hits = read_number(inner, std::numeric_limits<std::uint64_t>::max());
      if (!hits) return wrong(name, "a whole number");
      descriptor.has_hits = true;
      descriptor.hits = *hits;
      return success();
    }
    if (name == "isNegativeHits" || name == "is_negative_hits") {
      if (inner.get(descriptor.negative) != simdjson::SUCCESS) return wrong(name, "true or false");
      return success();
    }
    return unknown(name);
  });
  request.descriptors.push_back(descriptor);
  return status;
}

std::string_view code_text(bool over_limit) { return over_limit ? "\"OVER_LIMIT\"" : "\"OK\""; }

void append_status(std::string& out, const RlsStatus& status) {
  out += "{\"code\":";
  out += code_text(status.over_limit);
  if (status.has_limit) {
    out += ",\"currentLimit\":{\"requestsPerUnit\":";
    out += std::to_string(status.limit);
    out += ",\"unit\":\"";
    out += unit_name(status.unit);
    out += "\",\"name\":";
    base::append_json_string(out, status.name);
    out += '}';
  }
  if (status.remaining != 0) {
    out += ",\"limitRemaining\":";
    out += std::to_string(status.remaining);
  }
  if (status.has_reset) {
    out += ",\"durationUntilReset\":\"";
    out += std::to_string(status.reset_after.count());
    out += "s\"";
  }
  out += '}';
}

void append_header(std::string& out, std::string_view name, std::string_view value, bool& first) {
  if (value.empty()) return;
  out += first ? ",\"responseHeadersToAdd\":[" : ",";
  first = false;
  out += "{\"key\":";
  base::append_json_string(out, name);
  out += ",\"value\":";
  base::append_json_string(out, value);
  out += '}';
}

}  // namespace

struct RlsJsonReader::Parser {
  simdjson::dom::parser parser;
};

RlsJsonReader::RlsJsonReader() : parser_(std::make_unique<Parser>()) {}
RlsJsonReader::~RlsJsonReader() = default;

Status RlsJsonReader::read(std::string_view json, RlsRequest& request) {
  request.clear();
  element root;
  if (parser_->parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) {
    return Failure{Code::invalid_argument, "the body is not JSON"};
  }
  Status status = read_object("body", root, [&](std::string_view name, const element& value) -> Status {
    if (name == "domain") return read_text(name, value, request.domain);
    if (name == "hitsAddend" || name == "hits_addend") return read_small(name, value, request.hits_addend);
    if (name == "descriptors") {
      return read_array(name, value, [&](const element& inner) { return read_descriptor(inner, request); });
    }
    return unknown(name);
  });
  request.spread_domain();
  return status;
}

void render_rls_json(std::string& out, const RlsAnswer& answer) {
  out += "{\"overallCode\":";
  out += code_text(answer.over_limit);
  if (!answer.statuses.empty()) {
    out += ",\"statuses\":[";
    for (std::size_t i = 0; i < answer.statuses.size(); ++i) {
      if (i > 0) out += ',';
      append_status(out, answer.statuses[i]);
    }
    out += ']';
  }
  bool first = true;
  for (std::size_t i = 0; i < answer.headers.size(); ++i) {
    append_header(out, kRlsHeaderNames[i], answer.headers[i], first);
  }
  append_header(out, "Weir-Status", answer.weir_status, first);
  if (!first) out += ']';
  if (!answer.body.empty()) {
    out += ",\"rawBody\":\"";
    base::append_base64(out, answer.body);
    out += '"';
  }
  out += '}';
}

}  // namespace weir::envoy
