// Who shares the tolerance of synced rules: a list in the store, which nodes keep up by telling it that they live.
//
// MemberList is the list's side, as the Lua of stores/redis/member_list.cc does it, for stores without scripts and as
// its model in tests. Membership is a node's side.
//
// What it promises: the parts of the tolerance that nodes may be using never add up to more than the whole. A node that
// joins gets none until every other has said that it uses a smaller one; a part grows only into what is free. A node
// that is not heard of for kMemberTtl has given its part up by its own clock before the list forgets it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "stores/synced/credit.h"
#include "weir/time.h"

namespace weir::synced {

inline constexpr Duration kMemberTtl = std::chrono::seconds(3);
inline constexpr Duration kBeatPeriod = std::chrono::milliseconds(500);
// Nodes beyond are exact.
inline constexpr std::size_t kMaxMembers = 1'000;

// What a node tells the list.
struct Beat {
  std::uint64_t id = 0;      // of the node, random
  std::uint64_t number = 0;  // of its beats: one that comes after a later one is ignored
  std::uint32_t weight = 1;  // how many parts it needs
  std::uint32_t held = 0;    // it uses parts of one in so many; 0: none
};

struct Grant {
  std::uint32_t parts = 0;  // the node may use parts of one in so many; 0: none yet
  std::uint32_t nodes = 0;  // that live

  bool operator==(const Grant&) const = default;
};

// For one thread.
class MemberList {
 public:
  explicit MemberList(Duration ttl = kMemberTtl) : ttl_(ttl) {}

  Grant beat(const Beat& beat, TimePoint now);

 private:
  struct Member {
    std::uint64_t number = 0;
    std::uint32_t weight = 0;
    std::uint32_t held = 0;  // the smallest that it may be using
    TimePoint ends{};
  };
  const Duration ttl_;
  // A list that has just been made may have been lost: until its nodes are heard of again no part grows.
  TimePoint learns_until_{};
  std::map<std::uint64_t, Member> members_;
};

// A node's membership. For one thread, but for credit().
class Membership {
 public:
  // `settled`: the smallest number of parts that some store of this node may still have used more than its part of; 0:
  // nothing is in use.
  struct Options {
    std::uint64_t id = 0;
    std::uint32_t weight = 1;
    Duration ttl = kMemberTtl;
    std::function<std::uint32_t()> settled;
  };
  explicit Membership(Options options) : options_(std::move(options)) {}

  // To be sent. One that is under way is given up: its answer is ignored.
  Beat next(TimePoint now);
  // Of the beat with this number.
  void answered(std::uint64_t number, const Grant& grant);
  // For good: it has no credit from now on, whatever the list grants.
  void leave();

  const Credit& credit() const { return credit_; }
  std::uint32_t nodes() const { return nodes_.load(std::memory_order_relaxed); }
  std::uint64_t id() const { return options_.id; }

 private:
  const Options options_;
  Credit credit_;
  std::atomic<std::uint32_t> nodes_{0};
  std::uint64_t number_ = 0;
  TimePoint sent_{};
  bool left_ = false;
};

}  // namespace weir::synced
