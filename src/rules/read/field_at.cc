#include "rules/read/field_at.h"

#include "rules/read/known_fields.h"
#include "rules/read/rule_reader.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {

std::string FieldAt::path() const {
  const std::string path = in_ != nullptr ? in_->path() : inherited_ ? "defaults" : scope_.path;
  if (index_ != kNamed) return path + "[" + std::to_string(index_) + "]";
  return path.empty() ? std::string(name_) : path + "." + std::string(name_);
}

void FieldAt::fault(std::string_view what) const {
  scope_.faults.add(fault_at(scope_.file, node_, path(), what));
  if (in_ == nullptr) scope_.unreadable.emplace(name_);
}

void FieldAt::fault_below(const FieldPath& path, std::string_view what) const {
  const std::string below = to_string(path);
  const std::string full = below.empty() || below.front() == '[' ? this->path() + below : this->path() + "." + below;
  scope_.faults.add(fault_at(scope_.file, locate(node_, path), full, what));
}

void FieldAt::fault_expecting(std::string_view expected) const {
  fault("is " + describe(node_) + ", expected " + std::string(expected));
}

bool FieldAt::has_known_fields(std::span<const std::string_view> known) const {
  return KnownFields(scope_.file, scope_.faults).check(node_, path(), known);
}

}  // namespace weir::rules
