#include "stores/redis/key_sample.h"

#include <algorithm>

namespace weir::redis {

void KeySample::ask(Connection& connection, ServerFigures& figures, SteadyTime now) {
  if (unanswered_ > 0) return;
  connection_ = &connection;
  figures_ = &figures;
  sizes_ = failed_ = counted_ = false;
  ours_.clear();
  const Connection::Sending sending{.now = now, .deadline = now + kDeadline};
  unanswered_ = 1 + kEachTurn;
  CommandWriter(connection.start(), 1).word("DBSIZE");
  connection.finish(*this, sending);
  for (std::size_t i = 0; i < kEachTurn; ++i) {
    CommandWriter(connection.start(), 1).word("RANDOMKEY");
    connection.finish(*this, sending);
  }
}

// Answers come in the order of the questions.
void KeySample::on_reply(Reply reply, SteadyTime now) {
  --unanswered_;
  const ReplyItem& answer = reply[0];
  if (answer.kind == ReplyKind::error) {
    failed_ = true;
  } else if (sizes_) {
    // Gone meanwhile: it takes nothing.
    keep(answer.kind == ReplyKind::integer ? answer.number : 0);
  } else if (!counted_) {
    counted_ = true;
    all_keys_ = answer.kind == ReplyKind::integer ? answer.number : 0;
  } else {
    see_key(answer);
  }
  if (unanswered_ > 0) return;
  if (!sizes_ && !failed_ && !ours_.empty()) return ask_sizes(now);
  finish();
}

void KeySample::see_key(const ReplyItem& answer) {
  if (answer.kind != ReplyKind::text) return;  // the server is empty
  if (answer.text.substr(0, prefix_.size()) == prefix_) {
    ours_.emplace_back(answer.text);
  } else {
    keep(0);
  }
}

void KeySample::ask_sizes(SteadyTime now) {
  if (!connection_->ready() || !connection_->accepts()) return;
  sizes_ = true;
  unanswered_ = ours_.size();
  for (const std::string& key : ours_) {
    CommandWriter(connection_->start(), 3).word("MEMORY").word("USAGE").word(key);
    connection_->finish(*this, {.now = now, .deadline = now + kDeadline});
  }
}

void KeySample::on_lost(FailureKind, SteadyTime) {
  failed_ = true;
  --unanswered_;
}

void KeySample::keep(std::int64_t bytes) {
  kept_[next_] = bytes;
  next_ = (next_ + 1) % kKept;
  used_ = std::max(used_, next_ == 0 ? kKept : next_);
}

void KeySample::finish() {
  if (failed_) return;
  if (all_keys_ == 0) used_ = next_ = 0;
  std::int64_t bytes = 0;
  std::int64_t ours = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    bytes += kept_[i];
    ours += kept_[i] > 0 ? 1 : 0;
  }
  const double each = used_ == 0 ? 0 : static_cast<double>(all_keys_) / static_cast<double>(used_);
  figures_->key_bytes.store(static_cast<std::int64_t>(each * static_cast<double>(bytes)), std::memory_order_relaxed);
  figures_->keys.store(static_cast<std::int64_t>(each * static_cast<double>(ours)), std::memory_order_relaxed);
}

}  // namespace weir::redis
