// Intake: what happens to a request before rules are evaluated. Blocks refuse it; a tenant's record gives it a plan.
//
// Everything here is immutable once made, and shared between threads.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rules/compile/block_set.h"
#include "weir/request.h"

namespace weir::rules {

// The plans of tenants: requests that name a `tenant` and no `plan` have this one.
class PlanTable {
 public:
  void set(std::string tenant, std::string plan) { plans_.insert_or_assign(std::move(tenant), std::move(plan)); }
  bool empty() const { return plans_.empty(); }
  std::size_t size() const { return plans_.size(); }

  // Null: not known.
  const std::string* find(std::string_view tenant) const {
    const auto found = plans_.find(tenant);
    return found == plans_.end() ? nullptr : &found->second;
  }

 private:
  // Not keyed: the table is filled by operators only.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> plans_;
};

// Null members: there are none.
struct Intake {
  std::shared_ptr<const BlockSet> blocks;
  std::shared_ptr<const PlanTable> plans;
};

// A request with the plan of its tenant's record. Lives on the stack of a call that decides.
class CompletedRequest {
 public:
  CompletedRequest() {}  // NOLINT(modernize-use-equals-default): would clear the attributes first

  // The request itself if it names a plan, or no tenant that has one, or as many attributes as there may be. Otherwise
  // one that refers to it, to this object and to the table.
  const Request& complete(const Request& request, const PlanTable& plans);

 private:
  std::array<Attribute, kMaxAttributes> attributes_;
  Request completed_;
};

}  // namespace weir::rules
