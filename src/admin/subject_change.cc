#include "admin/subject_change.h"

namespace weir::admin {

std::string SubjectChange::json(const Environment& environment, std::string_view name,
                                const std::optional<std::int64_t>& number) const {
  JsonWriter out;
  out.begin_object();
  out.begin_object("attributes");
  for (const auto& [attribute, value] : kept_.texts) {
    out.member(attribute, environment.shown_value ? environment.shown_value(attribute, value) : value);
  }
  out.end_object();
  out.begin_array("rules");
  for (const std::string& each : names_) out.value(each);
  out.end_array();
  out.member(name, number);
  out.end_object();
  return out.take();
}

std::vector<std::string> read_rules(Members& body) {
  return body.has("rules") ? body.texts("rules") : std::vector<std::string>{};
}

}  // namespace weir::admin
