#include "admin/offload.h"

#include <utility>

namespace weir::admin {
namespace {

Answer stopping() { return problem_of({Code::cancelled, "the server is stopping"}); }

}  // namespace

Offload::Offload() : thread_([this] { run(); }) {}

Offload::~Offload() {
  std::deque<Piece> left;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    left.swap(waiting_);
  }
  changed_.notify_all();
  for (const Piece& each : left) each.later.send(stopping());
  thread_.join();
}

void Offload::answer(Call& call, std::function<Answer()> work) {
  run_later(call.defer(), [work = std::move(work)](const LaterAnswer& later) { later.send(work()); });
}

void Offload::run_later(const LaterAnswer& later, std::function<void(const LaterAnswer&)> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!ending_ && waiting_.size() < kMaxWaiting) {
      waiting_.push_back({later, std::move(work)});
      changed_.notify_one();
      return;
    }
  }
  later.send(problem_of({Code::resource_exhausted, "too much work of this kind is waiting; try again later"}));
}

void Offload::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    piece.work(piece.later);
  }
}

}  // namespace weir::admin
