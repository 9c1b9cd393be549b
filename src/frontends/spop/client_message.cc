#include "frontends/spop/client_message.h"

#include <algorithm>

#include "base/attributes.h"
#include "frontends/spop/notify.h"

namespace weir::spop {
namespace {

constexpr std::array<std::string_view, 5> kPartNames = {"src", "method", "uri", "scheme", kHeadersArgument};
// The address, and HAProxy's own fields.
constexpr std::size_t kMaxTexts = kMaxAttributes + kPartNames.size();

MessageFault by_configuration(std::string_view text) { return {MessageFault::Cause::configuration, text}; }
MessageFault by_client(std::string_view text) { return {MessageFault::Cause::client, text}; }

bool has_no_text(const Value& value) {
  return value.type == ValueType::null || (value.is_text() && value.bytes.empty());
}

}  // namespace

std::optional<MessageFault> ClientMessageReader::read(std::string_view payload, ClientMessage& message) {
  parts_ = {};
  headers_.clear();
  gateway_fields_.clear();
  texts_.clear(kMaxTexts);
  message = {};
  std::optional<MessageFault> fault;
  const bool whole = each_argument(payload, [&](std::string_view name, const Value& value) {
    if (!fault) fault = take(name, value, message);
  });
  if (!whole) return by_client("the message is malformed");
  if (!fault) fault = check_parts();
  if (!fault) fault = read_headers(parts_[kHeaders]->bytes);
  if (fault) return fault;
  ClientRequest& request = message.request;
  request.src = texts_.of(*parts_[kSrc]);
  request.method = texts_.of(*parts_[kMethod]);
  request.uri = texts_.of(*parts_[kUri]);
  if (parts_[kScheme]) request.scheme = texts_.of(*parts_[kScheme]);
  request.headers = headers_;
  request.gateway_fields = gateway_fields_;
  return std::nullopt;
}

std::optional<MessageFault> ClientMessageReader::take(std::string_view name, const Value& value,
                                                      ClientMessage& message) {
  const auto part = std::find(kPartNames.begin(), kPartNames.end(), name);
  if (part != kPartNames.end()) {
    std::optional<Value>& place = parts_[static_cast<std::size_t>(part - kPartNames.begin())];
    if (place) return by_configuration("src, method, uri, scheme or headers is there twice");
    place = value;
    return std::nullopt;
  }
  const bool has_value = value.type != ValueType::null;
  if (name == "cost") {
    if (!has_value) return std::nullopt;
    const std::optional<std::int64_t> cost = cost_of(value);
    if (!cost) return by_client("cost is not a number");
    message.cost = Cost{*cost};
    return std::nullopt;
  }
  if (name == "peek") {
    message.peek = has_value && is_true(value);
    return std::nullopt;
  }
  if (!base::attribute_name_fault(name).empty() || gateway_fields_.size() == kMaxAttributes) {
    return by_configuration("has an argument without a name or with one that is too long, or too many of them");
  }
  gateway_fields_.push_back({name, texts_.of(value)});
  return std::nullopt;
}

// A missing address is not guessed: any guess could be a trusted proxy's.
std::optional<MessageFault> ClientMessageReader::check_parts() const {
  if (!parts_[kSrc] || !parts_[kMethod] || !parts_[kUri]) {
    return by_configuration("headers also needs src=src, method=method and uri=url");
  }
  if (has_no_text(*parts_[kSrc])) {
    return by_configuration("src has no value; if clients connect through a Unix socket, use src=str(127.0.0.1)");
  }
  if (has_no_text(*parts_[kMethod])) return by_configuration("method has no value, expected method=method");
  if (has_no_text(*parts_[kUri])) return by_client("uri has no value");
  const Value& headers = *parts_[kHeaders];
  if (headers.type == ValueType::null) return by_client("the headers do not fit in HAProxy's buffer");
  if (headers.type != ValueType::binary)
    return by_configuration("headers is not binary, expected headers=req.hdrs_bin");
  return std::nullopt;
}

std::optional<MessageFault> ClientMessageReader::read_headers(std::string_view block) {
  Cursor cursor(block);
  while (true) {
    http::HttpField field;
    if (!cursor.string(field.name) || !cursor.string(field.value)) {
      return by_configuration("headers is not in the format of req.hdrs_bin");
    }
    if (field.name.empty()) break;
    if (headers_.size() == kMaxHeaders) return by_client("there are too many headers");
    headers_.push_back(field);
  }
  if (!cursor.at_end()) return by_configuration("headers is not in the format of req.hdrs_bin");
  return std::nullopt;
}

}  // namespace weir::spop
