// DecisionStream: decisions as they are made, as server-sent events.
//
//   event: decision      data: an entry, as in the list of decisions
//   event: dropped       data: {"n":12}: so many were left out, because the reader or this node could not keep up
//   : alive              at least every 15 s
//
// The journal is checked four times a second, so a decision is shown at most that much later, and an entry's `count`
// is what it was then. Bounded: at most kMaxEntries are checked each time, and nothing is written to a reader that
// has not taken what it was sent. Lives on its connection's loop.
#pragma once

#include <memory>
#include <string>

#include "frontends/http/router.h"
#include "observe/journal.h"

namespace weir::admin {

class DecisionStream final : public http::StreamSource, public std::enable_shared_from_this<DecisionStream> {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(250);
  static constexpr std::int64_t kAlivePeriods = 60;  // 15 s
  static constexpr std::size_t kMaxEntries = 500;    // of each loop, each time

  // The journal outlives it.
  DecisionStream(const observe::Journal& journal, observe::Journal::Filter filter, std::string node)
      : follower_(journal.follow()), filter_(std::move(filter)), node_(std::move(node)) {}

  void start(const http::StreamWriter& writer) override;

 private:
  void look_later();
  void look();

  observe::Journal::Follower follower_;
  const observe::Journal::Filter filter_;
  const std::string node_;
  std::optional<http::StreamWriter> writer_;
  std::uint64_t dropped_ = 0;
  std::int64_t quiet_ = 0;  // periods without a line
};

}  // namespace weir::admin
