// FieldAt: one value of a rules file on its way into a rule, and how errors name it.
//
// Cheap: its path is put together only for an error, because most rules have none and there may be 100,000 of them.
// Refers to the document and to its FieldScope; both must outlive it. Used by one thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/yaml_document.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/rule_check.h"
#include "weir/result.h"

namespace weir::rules {

// What all fields of one rule share.
struct FieldScope {
  std::string_view file;
  FaultList& faults;
  std::string path;                                    // of the rule, such as "rules[2]"
  std::set<std::string, std::less<>> unreadable = {};  // names of fields of the rule that have an error already
};

class FieldAt {
 public:
  // A field of the rule itself. `inherited`: it comes from the file's `defaults`.
  FieldAt(FieldScope& scope, const base::YamlNode& node, std::string_view name, bool inherited = false)
      : scope_(scope), node_(node), name_(name), inherited_(inherited) {}

  const base::YamlNode& node() const { return node_; }
  std::string_view name() const { return name_; }
  bool inherited() const { return inherited_; }
  // A value inside this one, which must outlive it. `name` must outlive it too.
  FieldAt part(const base::YamlNode& node, std::string_view name) const { return {*this, node, name, kNamed}; }
  FieldAt item(std::size_t i) const { return {*this, node_.item(i), {}, i}; }

  // "rules[2].overrides[0].until".
  std::string path() const;
  void fault(std::string_view what) const;
  // About a part of this value, where the path leads or as far as it goes.
  void fault_below(const FieldPath& path, std::string_view what) const;
  // How many errors there are so far, of all fields.
  std::size_t faults() const { return scope_.faults.size(); }
  // "is a list, expected …".
  void fault_expecting(std::string_view expected) const;
  // False when the value is not a map; keys that are not in `known` are errors.
  bool has_known_fields(std::span<const std::string_view> known) const;

  // The value goes to `into`, a failure to the error list. True: it went to `into`.
  template <typename T, typename Read>
  bool take(T& into, Result<Read> read) const {
    if (!read.ok()) {
      fault(read.failure().message);
      return false;
    }
    into = static_cast<T>(std::move(read).value());
    return true;
  }

 private:
  static constexpr std::size_t kNamed = static_cast<std::size_t>(-1);
  FieldAt(const FieldAt& in, const base::YamlNode& node, std::string_view name, std::size_t index)
      : scope_(in.scope_), node_(node), name_(name), index_(index), in_(&in) {}

  FieldScope& scope_;
  const base::YamlNode& node_;
  const std::string_view name_;
  const std::size_t index_ = kNamed;  // otherwise a position in a list, and the name is not used
  const FieldAt* const in_ = nullptr;
  const bool inherited_ = false;
};

}  // namespace weir::rules
