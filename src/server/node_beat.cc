#include "server/node_beat.h"

#include <memory>

namespace weir::server {
namespace {

constexpr std::chrono::milliseconds kLeavePatience{500};

}  // namespace

void NodeBeat::beat() {
  if (running_.exchange(true)) return;
  const auto made = std::make_shared<control::NodeCounts>();
  const Status queued = database_.submit({.access = database::Access::write,
                                          .work = [made, node = node_](database::Session& session) -> Status {
                                            const Result<control::NodeCounts> noted = control::note_node(session, node);
                                            if (!noted.ok()) return noted.failure();
                                            *made = noted.value();
                                            return success();
                                          },
                                          .done =
                                              [this, made](const database::Outcome& outcome) {
                                                if (outcome.ok()) {
                                                  const std::lock_guard lock(mutex_);
                                                  counts_ = *made;
                                                }
                                                running_.store(false);
                                              },
                                          .deadline = std::chrono::steady_clock::now() + control::kBeatPeriod});
  if (!queued.ok()) running_.store(false);
}

void NodeBeat::leave() {
  static_cast<void>(database_.run(
      database::Access::write, [this](database::Session& session) { return control::forget_node(session, node_); },
      kLeavePatience));
}

control::NodeCounts NodeBeat::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace weir::server
