// BlockSet: blocks checked and compiled for matching. Immutable, so any number of threads may read one.
//
// A block is filed under its most selective condition: each exact value in one table, each address prefix in another
// with one look-up per length of prefix. So 100,000 blocks cost a request about what one costs. Blocks that have
// neither (only globs, expressions or `absent`) are tried one by one, and there may be few of them.
//
// A set may lie over another one, of which some blocks are gone: so a change beside 100,000 blocks is compiled alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/compile/conditions.h"
#include "rules/compile/name_table.h"
#include "rules/compile/prefix_index.h"
#include "rules/compile/value_index.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/time.h"

namespace weir::rules {

inline constexpr std::size_t kMaxBlocks = 1'000'000;
inline constexpr std::size_t kMaxUnfiledBlocks = 1'000;

// What is wrong with one block by itself; empty: nothing.
struct BlockFault {
  std::string field;  // "when.ip", "reason"
  std::string what;   // "is …, expected …"
};
std::vector<BlockFault> check_block(const Block& block);

// True when nothing says whom it refuses: each of its conditions, if it has any, is true for requests without the
// attribute (`absent`), or for nearly any value ("*", 0.0.0.0/0). It may refuse nearly every request, so it must be
// marked by `all`.
bool needs_all(const Block& block);
// True when a look-up finds it: one of its conditions has only exact values and address prefixes.
bool is_filed(const Block& block);

class BlockSet {
 public:
  // The failure names the block as "blocks[2].when.ip: …".
  static Result<std::shared_ptr<const BlockSet>> compile(std::vector<Block> blocks);
  // These blocks, and all of the set below (which may be null).
  static Result<std::shared_ptr<const BlockSet>> over(std::shared_ptr<const BlockSet> below, std::vector<Block> blocks);
  // The set with these changes, by the id of the block's mark; nothing: it is gone. Precondition: the set was compiled
  // from blocks that have marks, by id, ascending.
  static Result<std::shared_ptr<const BlockSet>> changed(std::shared_ptr<const BlockSet> set,
                                                         const std::map<std::string, std::optional<Block>>& changes);

  // The block that refuses the request at this time, or null. Precondition: at most kMaxAttributes attributes.
  const Block* find(const Request& request, TimePoint now) const {
    // Most requests are none of any block's business: that is found out without a table.
    std::uint64_t names = 0;
    for (const Attribute& attribute : request.attributes) names |= shape_bit(attribute.name);
    if ((names & filed_shapes_) == 0 && unfiled_count_ == 0) return nullptr;
    return search(request, now, nullptr);
  }

  // Without those of the set below.
  const std::vector<Block>& blocks() const { return blocks_; }
  // Those that are tried one by one, with the set below.
  std::size_t unfiled_count() const { return unfiled_count_; }

 private:
  struct Item {
    TimePoint until = TimePoint::max();
    std::uint32_t first_condition = 0;  // in conditions_: all but the one that it is filed under
    std::uint32_t condition_count = 0;
  };
  using Places = std::vector<bool>;  // by place in blocks_

  BlockSet() = default;
  static Result<std::shared_ptr<BlockSet>> make(std::vector<Block> blocks);
  Status check_counts() const;
  void lie_over(std::shared_ptr<const BlockSet> below, Places gone);
  std::optional<std::size_t> place_of(const std::string& id) const;
  void file(std::vector<ValueIndex::Filing>& values, std::vector<PrefixIndex::Filing>& prefixes);
  bool applies(std::uint32_t block, const RequestView& view, TimePoint now) const;
  // `gone`, if given, has the blocks of this set that do not count.
  const Block* search(const Request& request, TimePoint now, const Places* gone) const;
  const Block* search_own(const Request& request, TimePoint now, const Places* gone) const;
  const Block* first_that_applies(std::span<const std::uint32_t> blocks, const Request& request, TimePoint now,
                                  const Places* gone) const;

  // Names of the same length that begin alike share a bit.
  static std::uint64_t shape_bit(std::string_view name) {
    const unsigned first = name.empty() ? 0U : static_cast<unsigned char>(name.front());
    return std::uint64_t{1} << ((first + 7 * name.size()) & 63);
  }

  std::vector<Block> blocks_;
  std::vector<Item> items_;  // by place in blocks_
  std::vector<CompiledCondition> conditions_;
  NameTable names_;
  ValueIndex values_;
  PrefixIndex prefixes_;
  NameId address_ = kUnknownName;
  std::uint64_t filed_shapes_ = 0;  // shape_bit of every name that some block is filed under, here or below
  std::vector<std::uint32_t> unfiled_;
  std::size_t unfiled_count_ = 0;  // here and below, like the next
  std::size_t expression_count_ = 0;
  std::shared_ptr<const BlockSet> below_;  // may be null
  Places gone_;                            // of those below
};

}  // namespace weir::rules
