#include "frontends/http/attribute_reader.h"

#include <algorithm>

#include "base/attributes.h"

namespace weir::http {
namespace {

constexpr std::size_t kMaxNumber = 40;

}  // namespace

Status AttributeReader::read(ondemand::value value) {
  ondemand::object object;
  if (value.get_object().get(object)) return fault("attributes", "must be an object");
  for (auto field : object) {
    std::string_view name;
    if (auto error = read_name(field, name)) return bad(json_fault(error));
    ondemand::value held;
    if (auto error = field.value().get(held)) return bad(json_fault(error));
    if (body_.broken_before(held.raw_json_token().data())) return attribute_fault(name, "the name is not valid UTF-8");
    if (Status status = check_name(name); !status.ok()) return status;
    ondemand::json_type type;
    if (auto error = held.type().get(type)) return bad(json_fault(error));
    Status status = type == ondemand::json_type::array ? read_values(name, held) : read_value(name, held);
    if (!status.ok()) return status;
  }
  return success();
}

Status AttributeReader::check_name(std::string_view name) const {
  if (name.empty()) return fault("attributes", "a name is empty");
  const std::string_view wrong = base::attribute_name_fault(name);
  if (!wrong.empty()) return attribute_fault(name, "the name " + std::string(wrong));
  if (name.find('\0') != std::string_view::npos) return attribute_fault(name, "the name must not contain NUL");
  for (std::size_t i = first_; i < attributes_.size(); ++i) {
    if (attributes_[i].name == name) return attribute_fault(name, "is given twice; several values go in an array");
  }
  return success();
}

Status AttributeReader::attribute_fault(std::string_view name, std::string_view what) const {
  return fault("attributes." + shown(name), what);
}

Status AttributeReader::read_values(std::string_view name, ondemand::value held) {
  ondemand::array values;
  if (auto error = held.get_array().get(values)) return bad(json_fault(error));
  bool any = false;
  for (auto element : values) {
    ondemand::value value;
    if (auto error = element.get(value)) return bad(json_fault(error));
    if (Status status = read_value(name, value); !status.ok()) return status;
    any = true;
  }
  if (!any) return attribute_fault(name, "the array is empty");
  return success();
}

Status AttributeReader::read_value(std::string_view name, ondemand::value held) {
  if (body_.broken_in(held)) return attribute_fault(name, "the value is not valid UTF-8");
  std::string_view value;
  if (auto error = read_string(held, value)) {
    if (error == simdjson::INCORRECT_TYPE) return read_other_value(name, held);
    return attribute_fault(name, "is not a valid JSON string");
  }
  const std::string_view wrong = base::attribute_value_fault(value);
  if (!wrong.empty()) return attribute_fault(name, "the value " + std::string(wrong));
  if (value.find('\0') != std::string_view::npos) return attribute_fault(name, "the value must not contain NUL");
  return add(name, value);
}

// Numbers and booleans become the text that rules compare with: true, false, and numbers as they are written. JSON
// has one way to write a whole number, except for -0.
Status AttributeReader::read_other_value(std::string_view name, ondemand::value held) {
  const std::string_view token = held.raw_json_token();
  const std::string_view text = token.substr(0, std::min(token.find_first_of(" \t\r\n"), token.size()));
  if (text == "true" || text == "false") {
    bool ignored = false;
    if (auto error = held.get_bool().get(ignored)) return bad(json_fault(error));
    return add(name, text);
  }
  if (text.empty() || (text.front() != '-' && (text.front() < '0' || text.front() > '9'))) {
    return attribute_fault(name, "must be a string, a number, true or false, or an array of these");
  }
  if (text.size() > kMaxNumber) return attribute_fault(name, "has a number of more than 40 characters");
  static_assert(kMaxNumber == 40);
  double number = 0;
  if (held.get_double().get(number)) return attribute_fault(name, "is not a valid JSON number");
  return add(name, text == "-0" ? std::string_view("0") : text);
}

Status AttributeReader::add(std::string_view name, std::string_view value) {
  static_assert(kMaxAttributes == 64);
  if (attributes_.size() - first_ >= kMaxAttributes) return fault("attributes", "has more than 64 values");
  attributes_.push_back({name, value});
  return success();
}

bool AttributeReader::has(std::string_view name) const {
  return std::any_of(attributes_.begin() + static_cast<std::ptrdiff_t>(first_), attributes_.end(),
                     [&](const Attribute& attribute) { return attribute.name == name; });
}

}  // namespace weir::http
