// BlockSet: blocks checked and compiled for matching. Immutable, so any number of threads may read one.
//
// A block is filed under its most selective condition: each exact value in one table, each address prefix in another
// with one look-up per length of prefix. So 100,000 blocks cost a request about what one costs. Blocks that have
// neither (only globs, expressions or `absent`) are tried one by one, and there may be few of them.
#pragma once

#include <cstdint>
#include <memory>
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

// True when it refuses every request, or every one that has some attribute: `when` is empty, or all its conditions are
// true for any value ("*", 0.0.0.0/0).
bool blocks_everything(const Block& block);
// True when a look-up finds it: one of its conditions has only exact values and address prefixes.
bool is_filed(const Block& block);

class BlockSet {
 public:
  // The failure names the block as "blocks[2].when.ip: …".
  static Result<std::shared_ptr<const BlockSet>> compile(std::vector<Block> blocks);

  // The block that refuses the request at this time, or null. Precondition: at most kMaxAttributes attributes.
  const Block* find(const Request& request, TimePoint now) const {
    // Most requests are none of any block's business: that is found out without a table.
    std::uint64_t names = 0;
    for (const Attribute& attribute : request.attributes) names |= shape_bit(attribute.name);
    if ((names & filed_shapes_) == 0 && unfiled_.empty()) return nullptr;
    return search(request, now);
  }

  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  struct Item {
    TimePoint until = TimePoint::max();
    std::uint32_t first_condition = 0;  // in conditions_: all but the one that it is filed under
    std::uint32_t condition_count = 0;
  };
  BlockSet() = default;
  void file(std::vector<ValueIndex::Filing>& values, std::vector<PrefixIndex::Filing>& prefixes);
  bool applies(std::uint32_t block, const RequestView& view, TimePoint now) const;
  const Block* search(const Request& request, TimePoint now) const;
  const Block* first_that_applies(std::span<const std::uint32_t> blocks, const Request& request, TimePoint now) const;

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
  std::uint64_t filed_shapes_ = 0;  // shape_bit of every name that some block is filed under
  std::vector<std::uint32_t> unfiled_;
};

}  // namespace weir::rules
