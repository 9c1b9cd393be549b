// FairQueue: calls that wait for room at a server, taken from each client in turn.
//
// A client (Origin) with a thousand calls in line gets its next turn after every other client has had one: what one
// asks for never makes another wait longer than one round. Within a client the order is kept.
//
// QueuedCount counts, over all servers of a store, how many calls of a client wait in such queues.
//
// Links are inside the calls and places of clients are used again, so that once warm nothing is allocated. Borrows the
// calls. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stores/redis/breaker.h"

namespace weir::redis {

// Between whom calls are shared out: a connection's number. 0: callers that are not distinguished.
using Origin = std::uint64_t;

class QueuedCall {
 public:
  // It is its turn: there is room.
  virtual void proceed(SteadyTime now) = 0;
  // It has waited for too long to be answered in time.
  virtual void give_up(SteadyTime now) = 0;

  Origin origin = 0;
  SteadyTime since{};  // when its client asked

 protected:
  ~QueuedCall() = default;

 private:
  friend class FairQueue;
  QueuedCall* next_ = nullptr;
};

// A map by origin whose entries are recycled.
template <typename Entry>
class OriginMap {
 public:
  bool empty() const { return entries_.empty(); }
  Entry* find(Origin origin) {
    const auto found = entries_.find(origin);
    return found == entries_.end() ? nullptr : &found->second;
  }
  const Entry* find(Origin origin) const { return const_cast<OriginMap*>(this)->find(origin); }
  // Stays where it is until it is erased.
  Entry& find_or_add(Origin origin) {
    if (Entry* const entry = find(origin)) return *entry;
    if (spare_.empty()) return entries_.try_emplace(origin).first->second;
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = origin;
    node.mapped() = Entry{};
    return entries_.insert(std::move(node)).position->second;
  }
  void erase(Origin origin) { spare_.push_back(entries_.extract(origin)); }

 private:
  std::unordered_map<Origin, Entry> entries_;
  std::vector<typename std::unordered_map<Origin, Entry>::node_type> spare_;
};

class QueuedCount {
 public:
  std::size_t of(Origin origin) const {
    if (counts_.empty()) return 0;
    const std::size_t* const count = counts_.find(origin);
    return count == nullptr ? 0 : *count;
  }
  void add(Origin origin) { ++counts_.find_or_add(origin); }
  void remove(Origin origin) {
    if (--*counts_.find(origin) == 0) counts_.erase(origin);
  }

 private:
  OriginMap<std::size_t> counts_;
};

class FairQueue {
 public:
  // `counts` must outlive it.
  explicit FairQueue(QueuedCount& counts) : counts_(counts) {}
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(QueuedCall& call);
  // The next client's first call. Precondition: not empty.
  QueuedCall& pop();
  // Takes out the calls at the head of each line that have waited since `limit` or longer, and gives them up. They may
  // push others meanwhile.
  void give_up_since(SteadyTime limit, SteadyTime now);
  // When the call that has waited longest came, of those that are first of their client. Precondition: not empty.
  SteadyTime oldest() const;

 private:
  struct Line {
    Origin origin = 0;
    QueuedCall* head = nullptr;
    QueuedCall* tail = nullptr;
    Line* next = nullptr;  // the ring of lines; none is empty
  };

  QueuedCall& take_head(Line& line);
  // Removes the line after `before`, which is empty.
  void drop_behind(Line& before);

  QueuedCount& counts_;
  OriginMap<Line> lines_;
  Line* last_ = nullptr;  // had its turn last; the next one follows it. Null: no line
  std::size_t size_ = 0;
};

}  // namespace weir::redis
