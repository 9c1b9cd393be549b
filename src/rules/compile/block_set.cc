#include "rules/compile/block_set.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "rules/compile/any_value.h"
#include "rules/compile/fault_list.h"
#include "rules/compile/rule_check.h"

namespace weir::rules {
namespace {

std::optional<base::IpPrefix> address_of(const Condition& condition, const std::string& pattern) {
  if (condition.attribute != kAddressAttribute) return std::nullopt;
  return base::IpPrefix::parse(pattern, base::HostBits::ignored);
}

bool can_be_filed(const Condition& condition) {
  return std::all_of(condition.patterns.begin(), condition.patterns.end(), [&](const std::string& pattern) {
    const PatternKind kind = pattern_kind(condition.attribute, pattern);
    return kind == PatternKind::exact || kind == PatternKind::block;
  });
}

// How many blocks share the most common value of a condition; fewer is better to file under.
class Shares {
 public:
  void count(const Condition& condition) {
    for (const std::string& pattern : condition.patterns) ++uses_[key(condition, pattern)];
  }
  std::size_t most(const Condition& condition) const {
    std::size_t most = 0;
    for (const std::string& pattern : condition.patterns) most = std::max(most, uses_.at(key(condition, pattern)));
    return most;
  }

 private:
  static std::string key(const Condition& condition, const std::string& pattern) {
    return condition.attribute + '\0' + pattern;
  }
  std::unordered_map<std::string, std::size_t> uses_;
};

const Condition* best_condition(const Block& block, const Shares& shares) {
  const Condition* best = nullptr;
  std::size_t least = 0;
  for (const Condition& condition : block.when) {
    if (!can_be_filed(condition)) continue;
    if (block.when.size() == 1) return &condition;
    const std::size_t uses = shares.most(condition);
    if (best == nullptr || uses < least) {
      best = &condition;
      least = uses;
    }
  }
  return best;
}

std::size_t expressions_of(const Block& block) {
  std::size_t count = 0;
  for (const Condition& condition : block.when) {
    for (const std::string& pattern : condition.patterns) {
      count += pattern_kind(condition.attribute, pattern) == PatternKind::expression ? 1 : 0;
    }
  }
  return count;
}

Failure fault_of(std::size_t block, const BlockFault& fault) {
  return {Code::invalid_argument,
          "blocks[" + std::to_string(block) + "]" + (fault.field.empty() ? "" : ".") + fault.field + ": " + fault.what};
}

}  // namespace

std::vector<BlockFault> check_block(const Block& block) {
  std::vector<BlockFault> faults;
  if (block.when.size() > kMaxConditions) {
    faults.push_back({"when", "has " + std::to_string(block.when.size()) + " conditions, expected at most " +
                                  std::to_string(kMaxConditions)});
  }
  for (const Condition& condition : block.when) {
    if (!is_attribute_name(condition.attribute)) {
      faults.push_back({"when", "has " + in_quotes(condition.attribute) + ", expected the name of an attribute"});
    } else if (const Status checked = check_condition(condition); !checked.ok()) {
      faults.push_back({"when." + condition.attribute, checked.failure().message});
    }
  }
  if (block.reason.size() > kMaxReason || !base::is_utf8(block.reason)) {
    faults.push_back({"reason", "is not a text of at most " + std::to_string(kMaxReason) + " bytes"});
  }
  return faults;
}

bool needs_all(const Block& block) {
  return std::all_of(block.when.begin(), block.when.end(), [](const Condition& condition) {
    return accepts_absent(condition) || fits_nearly_any_value(condition);
  });
}

bool is_filed(const Block& block) { return std::any_of(block.when.begin(), block.when.end(), can_be_filed); }

Result<std::shared_ptr<const BlockSet>> BlockSet::compile(std::vector<Block> blocks) {
  return over(nullptr, std::move(blocks));
}

Result<std::shared_ptr<const BlockSet>> BlockSet::over(std::shared_ptr<const BlockSet> below,
                                                       std::vector<Block> blocks) {
  Result<std::shared_ptr<BlockSet>> made = make(std::move(blocks));
  if (!made.ok()) return made.failure();
  if (below != nullptr) made.value()->lie_over(std::move(below), {});
  return std::shared_ptr<const BlockSet>(std::move(made).value());
}

Result<std::shared_ptr<const BlockSet>> BlockSet::changed(std::shared_ptr<const BlockSet> set,
                                                          const std::map<std::string, std::optional<Block>>& changes) {
  Places gone(set->blocks_.size());
  std::vector<Block> added;
  for (const auto& [id, block] : changes) {
    if (const std::optional<std::size_t> place = set->place_of(id)) gone[*place] = true;
    if (block) added.push_back(*block);
  }
  Result<std::shared_ptr<BlockSet>> made = make(std::move(added));
  if (!made.ok()) return made.failure();
  made.value()->lie_over(std::move(set), std::move(gone));
  if (Status fits = made.value()->check_counts(); !fits.ok()) return fits.failure();
  return std::shared_ptr<const BlockSet>(std::move(made).value());
}

Status BlockSet::check_counts() const {
  if (unfiled_count_ <= kMaxUnfiledBlocks && expression_count_ <= kMaxExpressions) return success();
  return Failure{Code::out_of_range, "blocks: has " + std::to_string(unfiled_count_) +
                                         " blocks without an exact value or an address and " +
                                         std::to_string(expression_count_) + " regular expressions, expected at most " +
                                         std::to_string(kMaxUnfiledBlocks) + " and " + std::to_string(kMaxExpressions)};
}

Result<std::shared_ptr<BlockSet>> BlockSet::make(std::vector<Block> blocks) {
  if (blocks.size() > kMaxBlocks) {
    return Failure{Code::out_of_range, "blocks: has " + std::to_string(blocks.size()) + " blocks, expected at most " +
                                           std::to_string(kMaxBlocks)};
  }
  const std::shared_ptr<BlockSet> set(new BlockSet);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::vector<BlockFault> faults = check_block(blocks[i]);
    if (!faults.empty()) return fault_of(i, faults.front());
    set->unfiled_count_ += is_filed(blocks[i]) ? 0 : 1;
    set->expression_count_ += expressions_of(blocks[i]);
  }
  if (Status fits = set->check_counts(); !fits.ok()) return fits.failure();
  set->blocks_ = std::move(blocks);
  std::vector<ValueIndex::Filing> values;
  std::vector<PrefixIndex::Filing> prefixes;
  set->file(values, prefixes);
  set->values_ = ValueIndex(std::move(values));
  set->prefixes_ = PrefixIndex(prefixes);
  if (!set->prefixes_.empty()) set->address_ = set->names_.add(kAddressAttribute);
  return set;
}

void BlockSet::lie_over(std::shared_ptr<const BlockSet> below, Places gone) {
  below_ = std::move(below);
  gone_ = std::move(gone);
  filed_shapes_ |= below_->filed_shapes_;
  unfiled_count_ += below_->unfiled_count_;
  expression_count_ += below_->expression_count_;
  for (std::size_t i = 0; i < gone_.size(); ++i) {
    if (!gone_[i]) continue;
    unfiled_count_ -= is_filed(below_->blocks_[i]) ? 0 : 1;
    expression_count_ -= expressions_of(below_->blocks_[i]);
  }
}

std::optional<std::size_t> BlockSet::place_of(const std::string& id) const {
  const auto found = std::lower_bound(blocks_.begin(), blocks_.end(), id,
                                      [](const Block& a, const std::string& wanted) { return a.use->id() < wanted; });
  if (found == blocks_.end() || found->use->id() != id) return std::nullopt;
  return static_cast<std::size_t>(found - blocks_.begin());
}

void BlockSet::file(std::vector<ValueIndex::Filing>& values, std::vector<PrefixIndex::Filing>& prefixes) {
  Shares shares;
  for (const Block& block : blocks_) {
    if (block.when.size() < 2) continue;
    for (const Condition& condition : block.when) shares.count(condition);
  }
  items_.reserve(blocks_.size());
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    const Condition* const filed = best_condition(blocks_[i], shares);
    Item item;
    item.until = blocks_[i].until.value_or(TimePoint::max());
    item.first_condition = static_cast<std::uint32_t>(conditions_.size());
    for (const Condition& condition : blocks_[i].when) {
      const NameId name = names_.add(condition.attribute);
      if (&condition != filed) {
        conditions_.push_back(CompiledCondition::compile(condition, name).value());
        ++item.condition_count;
        continue;
      }
      filed_shapes_ |= shape_bit(condition.attribute);
      for (const std::string& pattern : condition.patterns) {
        if (const auto prefix = address_of(condition, pattern)) {
          prefixes.push_back({*prefix, i});
        } else {
          values.push_back({name, pattern, i});
        }
      }
    }
    if (filed == nullptr) unfiled_.push_back(i);
    items_.push_back(item);
  }
}

bool BlockSet::applies(std::uint32_t block, const RequestView& view, TimePoint now) const {
  const Item& item = items_[block];
  if (now >= item.until) return false;
  for (std::uint32_t i = 0; i < item.condition_count; ++i) {
    if (!conditions_[item.first_condition + i].holds(view)) return false;
  }
  return true;
}

// The names of all attributes are looked up only when some block may apply, for its other conditions.
[[gnu::noinline]] const Block* BlockSet::first_that_applies(std::span<const std::uint32_t> blocks,
                                                            const Request& request, TimePoint now,
                                                            const Places* gone) const {
  ResolvedNames resolved;
  for (std::size_t i = 0; i < request.attributes.size(); ++i) {
    resolved.ids[i] = names_.find(request.attributes[i].name);
  }
  const RequestView view{request, resolved.ids};
  const auto found = std::find_if(blocks.begin(), blocks.end(), [&](std::uint32_t block) {
    return (gone == nullptr || !(*gone)[block]) && applies(block, view, now);
  });
  return found == blocks.end() ? nullptr : &blocks_[*found];
}

const Block* BlockSet::search(const Request& request, TimePoint now, const Places* gone) const {
  if (const Block* const found = search_own(request, now, gone)) return found;
  return below_ == nullptr ? nullptr : below_->search(request, now, gone_.empty() ? nullptr : &gone_);
}

const Block* BlockSet::search_own(const Request& request, TimePoint now, const Places* gone) const {
  const Block* found = nullptr;
  for (const Attribute& attribute : request.attributes) {
    if ((shape_bit(attribute.name) & filed_shapes_) == 0) continue;
    const NameId name = names_.find(attribute.name);
    if (name == kUnknownName) continue;
    if (values_.may_mention(name)) {
      const std::span<const std::uint32_t> items = values_.find(name, attribute.value);
      if (!items.empty()) found = first_that_applies(items, request, now, gone);
      if (found != nullptr) return found;
    }
    if (name != address_) continue;
    const auto client = base::IpPrefix::parse(attribute.value, base::HostBits::ignored);
    const auto look = [&](std::uint32_t block) {
      found = first_that_applies({&block, 1}, request, now, gone);
      return found != nullptr;
    };
    if (client && prefixes_.any_of(*client, look)) return found;
  }
  return unfiled_.empty() ? nullptr : first_that_applies(unfiled_, request, now, gone);
}

}  // namespace weir::rules
