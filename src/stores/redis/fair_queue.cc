#include "stores/redis/fair_queue.h"

#include <algorithm>

namespace weir::redis {

void FairQueue::push(QueuedCall& call) {
  call.next_ = nullptr;
  Line& line = lines_.find_or_add(call.origin);
  if (line.head == nullptr) {
    line.origin = call.origin;
    line.head = line.tail = &call;
    // Behind all that are there: its turn comes after theirs.
    line.next = last_ == nullptr ? &line : last_->next;
    if (last_ != nullptr) last_->next = &line;
    last_ = &line;
  } else {
    line.tail->next_ = &call;
    line.tail = &call;
  }
  ++size_;
  counts_.add(call.origin);
}

QueuedCall& FairQueue::pop() {
  Line& line = *last_->next;
  QueuedCall& call = take_head(line);
  if (line.head == nullptr) {
    drop_behind(*last_);
  } else {
    last_ = &line;
  }
  return call;
}

QueuedCall& FairQueue::take_head(Line& line) {
  QueuedCall& call = *line.head;
  line.head = call.next_;
  --size_;
  counts_.remove(call.origin);
  return call;
}

void FairQueue::drop_behind(Line& before) {
  Line& line = *before.next;
  before.next = line.next;
  if (last_ == &line) last_ = &before == &line ? nullptr : &before;
  lines_.erase(line.origin);
}

void FairQueue::give_up_since(SteadyTime limit, SteadyTime now) {
  QueuedCall* given_up = nullptr;
  QueuedCall** end = &given_up;
  Line* before = last_;
  for (bool round_ends = last_ == nullptr; !round_ends;) {
    Line& line = *before->next;
    round_ends = &line == last_;
    while (line.head != nullptr && line.head->since <= limit) {
      QueuedCall& call = take_head(line);
      call.next_ = nullptr;
      *end = &call;
      end = &call.next_;
    }
    if (line.head == nullptr) {
      drop_behind(*before);
    } else {
      before = &line;
    }
  }
  while (given_up != nullptr) {
    QueuedCall& call = *given_up;
    given_up = call.next_;
    call.give_up(now);
  }
}

SteadyTime FairQueue::oldest() const {
  SteadyTime found = last_->head->since;
  for (const Line* line = last_->next; line != last_; line = line->next) found = std::min(found, line->head->since);
  return found;
}

}  // namespace weir::redis
