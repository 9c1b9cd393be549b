// SheddingClasses: Shedding (weir/rule.h) checked and compiled: which class a request is in, and whose share of the
// class it uses. Immutable after construction, so any number of threads may read one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rules/compile/conditions.h"
#include "rules/compile/name_table.h"
#include "rules/compile/rule_check.h"
#include "weir/request.h"
#include "weir/rule.h"

namespace weir::rules {

// The attribute in which a trusted request names its class.
inline constexpr std::string_view kPriorityAttribute = "priority";
inline constexpr std::int64_t kMaxInFlight = 100'000;
inline constexpr int kLeastShedAt = 1;  // percent
inline constexpr int kMostShedAt = 100;

// Everything wrong with it; paths begin below `shedding`.
std::vector<RuleFault> check_shedding(const Shedding& shedding);

class SheddingClasses {
 public:
  // Precondition: check_shedding() finds nothing. Adds its names to those of the rules.
  SheddingClasses(Shedding shedding, NameTable& names);

  struct Place {
    std::size_t number = 0;       // in source().classes; classes.size(): in none
    std::string_view share_of{};  // the request's value of `fair_by`; empty: it has none
  };
  // Precondition: resolved with the names of the constructor.
  Place place_of(const RequestView& view) const {
    const Attribute* const fair = view.first(fair_by_);
    return {class_of(view), fair == nullptr ? std::string_view() : fair->value};
  }
  const Shedding& source() const { return source_; }
  // The nanoseconds of the node's time that one request takes, at least 1. 0: the capacity has no rate.
  std::int64_t request_ns() const { return request_ns_; }

 private:
  using Conditions = std::vector<CompiledCondition>;
  static Conditions compile(const std::vector<Condition>& conditions, NameTable& names);
  static bool hold(const Conditions& conditions, const RequestView& view);
  std::size_t class_of(const RequestView& view) const;

  const Shedding source_;
  const std::int64_t request_ns_;
  NameId fair_by_;
  NameId priority_;
  std::vector<Conditions> classes_;
  Conditions trusted_;
};

}  // namespace weir::rules
