// JsonView: an answer of the admin API as verbs read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/json.h"

namespace weir::cli {

// An answer of the admin API. Members that are not there read as empty texts, 0, false and no items.
class JsonView {
 public:
  explicit JsonView(const admin::Json* json) : json_(json) {}

  JsonView operator[](std::string_view name) const;
  bool exists() const { return json_ != nullptr && !json_->is_null(); }
  std::string text() const;  // made safe to show
  double number() const;
  std::int64_t whole() const { return static_cast<std::int64_t>(number()); }
  bool boolean() const;
  std::vector<JsonView> items() const;
  std::vector<std::pair<std::string, JsonView>> members() const;

 private:
  const admin::Json* json_;
};

struct AdminAnswer {
  std::string text;  // as the server sent it
  admin::Json json;

  JsonView view() const { return JsonView(&json); }
};

}  // namespace weir::cli
