#include "cli/json_view.h"

#include "cli/terminal.h"

namespace weir::cli {

JsonView JsonView::operator[](std::string_view name) const {
  if (json_ == nullptr || json_->object() == nullptr) return JsonView(nullptr);
  for (const auto& [key, value] : *json_->object()) {
    if (key == name) return JsonView(&value);
  }
  return JsonView(nullptr);
}

std::string JsonView::text() const {
  if (json_ == nullptr) return {};
  if (const std::string* const found = json_->text()) return shown(*found);
  if (const std::int64_t* const whole = json_->whole()) return std::to_string(*whole);
  return {};
}

double JsonView::number() const {
  if (json_ == nullptr) return 0;
  if (const std::int64_t* const whole = json_->whole()) return static_cast<double>(*whole);
  const double* const fraction = json_->fraction();
  return fraction != nullptr ? *fraction : 0;
}

bool JsonView::boolean() const {
  const bool* const found = json_ != nullptr ? json_->boolean() : nullptr;
  return found != nullptr && *found;
}

std::vector<JsonView> JsonView::items() const {
  std::vector<JsonView> all;
  if (json_ == nullptr || json_->array() == nullptr) return all;
  for (const admin::Json& each : *json_->array()) all.emplace_back(&each);
  return all;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  std::vector<std::pair<std::string, JsonView>> all;
  if (json_ == nullptr || json_->object() == nullptr) return all;
  for (const auto& [name, value] : *json_->object()) all.emplace_back(shown(name), JsonView(&value));
  return all;
}

}  // namespace weir::cli
