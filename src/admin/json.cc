#include "admin/json.h"

#include <algorithm>

#include "frontends/http/json_body.h"

namespace weir::admin {
namespace {

namespace ondemand = simdjson::ondemand;

Failure wrong_json(simdjson::error_code error) { return http::bad(http::json_fault(error)); }

Result<Json> json_of(ondemand::value value, int depth);

Result<Json> json_object_of(ondemand::object object, int depth) {
  Json::Object members;
  for (auto field : object) {
    std::string_view name;
    if (auto error = field.unescaped_key().get(name)) return wrong_json(error);
    std::string key(name);
    const auto is_same = [&](const auto& known) { return known.first == key; };
    if (std::any_of(members.begin(), members.end(), is_same)) {
      return http::bad("'" + http::shown(key) + "' is there twice");
    }
    ondemand::value value;
    if (auto error = field.value().get(value)) return wrong_json(error);
    Result<Json> read = json_of(value, depth + 1);
    if (!read.ok()) return read;
    members.emplace_back(std::move(key), std::move(read).value());
  }
  return Json(std::move(members));
}

Result<Json> json_array_of(ondemand::array array, int depth) {
  Json::Array items;
  for (auto item : array) {
    ondemand::value value;
    if (auto error = item.get(value)) return wrong_json(error);
    Result<Json> read = json_of(value, depth + 1);
    if (!read.ok()) return read;
    items.push_back(std::move(read).value());
  }
  return Json(std::move(items));
}

Result<Json> json_number_of(ondemand::value value) {
  std::int64_t whole = 0;
  if (!value.get_int64().get(whole)) return Json(whole);
  double fraction = 0;
  if (auto error = value.get_double().get(fraction)) return wrong_json(error);
  return Json(fraction);
}

Result<Json> json_of(ondemand::value value, int depth) {
  if (depth > Json::kMaxDepth) return http::bad("the body is nested too deep");
  ondemand::json_type type;
  if (auto error = value.type().get(type)) return wrong_json(error);
  switch (type) {
    case ondemand::json_type::object: {
      ondemand::object object;
      if (auto error = value.get_object().get(object)) return wrong_json(error);
      return json_object_of(object, depth);
    }
    case ondemand::json_type::array: {
      ondemand::array array;
      if (auto error = value.get_array().get(array)) return wrong_json(error);
      return json_array_of(array, depth);
    }
    case ondemand::json_type::number:
      return json_number_of(value);
    case ondemand::json_type::string: {
      std::string_view text;
      if (auto error = value.get_string().get(text)) return wrong_json(error);
      return Json(std::string(text));
    }
    case ondemand::json_type::boolean: {
      bool flag = false;
      if (auto error = value.get_bool().get(flag)) return wrong_json(error);
      return Json(flag);
    }
    case ondemand::json_type::null:
      break;
  }
  // is_null() checks that it is spelled so.
  bool null = false;
  if (auto error = value.is_null().get(null)) return wrong_json(error);
  return Json();
}

}  // namespace

Result<Json> Json::parse_object(std::string_view text) {
  Json root;
  http::JsonBody body;
  const Status read = body.read(text, [&](ondemand::object& object) -> Status {
    Result<Json> made = json_object_of(object, 1);
    if (!made.ok()) return made.failure();
    root = std::move(made).value();
    return success();
  });
  if (!read.ok()) return read.failure();
  return root;
}

std::string_view Json::kind() const {
  constexpr std::string_view kKinds[] = {"null",   "true or false", "a whole number", "a number",
                                         "a text", "a list",        "an object"};
  return kKinds[value_.index()];
}

}  // namespace weir::admin
