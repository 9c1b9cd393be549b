#include "frontends/http/json_body.h"

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "frontends/http/json_fault.h"

namespace weir::http {
namespace {

constexpr std::size_t kShownName = 64;
constexpr std::string_view kNotJson = "the body is not valid JSON";
constexpr std::string_view kMoreAfterObject = "the body has something after the end of its JSON object";

// Whether the object that `body` begins with is closed, and something other than white space follows it.
bool has_more_after_object(std::string_view body) {
  constexpr std::string_view kWhiteSpace = " \t\r\n";
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char c = body[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return depth == 1 && body.find_first_not_of(kWhiteSpace, at + 1) != std::string_view::npos;
      --depth;
    }
  }
  return false;
}

// simdjson looks at the last character first, and takes an object that does not end the body for one without an end.
std::string document_fault(simdjson::error_code error, std::string_view body) {
  const bool no_end = error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT || error == simdjson::UNCLOSED_STRING;
  if (no_end && has_more_after_object(body)) return std::string(kMoreAfterObject);
  return json_fault(error);
}

}  // namespace

std::string shown(std::string_view name) {
  if (name.size() <= kShownName) return std::string(name);
  std::size_t cut = kShownName;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0) == 0x80) --cut;
  return std::string(name.substr(0, cut)) + "…";
}

std::string json_fault(simdjson::error_code error) {
  if (error == simdjson::UTF8_ERROR) return "the body is not valid UTF-8";
  if (error == simdjson::EMPTY) return "the body is empty; expected a JSON object";
  return std::string(kNotJson) + ": " + simdjson::error_message(error);
}

// What simdjson found, with the place and what was expected there.
Status JsonBody::located(const Status& status, std::string_view body) {
  const std::string& message = status.failure().message;
  const bool more = message.starts_with(kMoreAfterObject);
  if (!more && !message.starts_with(kNotJson)) return status;
  const std::optional<JsonFault> fault = find_json_fault(body);
  if (!fault) return status;
  const std::string place = " at " + line_and_column(body, fault->offset);
  if (more) return bad(std::string(kMoreAfterObject) + "," + place);
  return bad(std::string(kNotJson) + place + ": expected " + fault->expected);
}

simdjson::padded_string_view JsonBody::pad(std::string_view body) {
  const std::size_t needed = body.size() + simdjson::SIMDJSON_PADDING;
  if (capacity_ < needed) {
    capacity_ = std::max<std::size_t>(needed, 4096);
    text_ = std::make_unique<char[]>(capacity_);
  }
  if (!body.empty()) std::memcpy(text_.get(), body.data(), body.size());
  std::memset(text_.get() + body.size(), ' ', simdjson::SIMDJSON_PADDING);
  broken_ = nullptr;
  return simdjson::padded_string_view(text_.get(), body.size(), capacity_);
}

// Every byte of `text_` that is not UTF-8 becomes a question mark: the body can then be read up to the member that has
// the first of them, and that member be named.
simdjson::padded_string_view JsonBody::replace_invalid(std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = base::utf8_sequence({text_.get() + at, size - at});
    if (length == 0) {
      if (broken_ == nullptr) broken_ = text_.get() + at;
      text_[at] = '?';
    }
    at += std::max<std::size_t>(length, 1);
  }
  return simdjson::padded_string_view(text_.get(), size, capacity_);
}

Status JsonBody::open(std::string_view body, ondemand::document& document, ondemand::object& object) {
  auto fault = parser_.iterate(pad(body)).get(document);
  if (fault == simdjson::UTF8_ERROR) fault = parser_.iterate(replace_invalid(body.size())).get(document);
  if (fault) return bad(document_fault(fault, body));
  if (auto error = document.get_object().get(object)) {
    if (error == simdjson::INCORRECT_TYPE) return bad("the body must be a JSON object");
    return bad(document_fault(error, body));
  }
  return success();
}

Status JsonBody::finish(ondemand::document& document) const {
  if (broken_ != nullptr) return bad(json_fault(simdjson::UTF8_ERROR));
  // The only sign of the end that this simdjson gives.
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) return bad(std::string(kMoreAfterObject));
  return success();
}

}  // namespace weir::http
