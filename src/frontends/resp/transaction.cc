#include "frontends/resp/transaction.h"

#include <cassert>

namespace weir::resp {

void Transaction::begin() {
  assert(state_ == State::none);
  state_ = State::queueing;
}

bool Transaction::add(Words words) {
  assert(open());
  if (aborted()) return true;
  std::size_t bytes = text_.size() + (sizes_.size() + 1 + words.size()) * sizeof(std::uint32_t);
  for (const std::string_view word : words) bytes += word.size();
  if (bytes > kMaxBytes) {
    abort();
    return false;
  }
  sizes_.push_back(static_cast<std::uint32_t>(words.size()));
  for (const std::string_view word : words) {
    sizes_.push_back(static_cast<std::uint32_t>(word.size()));
    text_ += word;
  }
  ++size_;
  return true;
}

void Transaction::abort() {
  assert(open());
  forget();
  state_ = State::aborted;
}

void Transaction::discard() {
  forget();
  state_ = State::none;
}

void Transaction::execute() {
  assert(state_ == State::queueing && size_ > 0);
  state_ = State::executing;
}

Transaction::Words Transaction::next() {
  assert(executing());
  words_.clear();
  std::size_t at = text_at_;
  const std::uint32_t count = sizes_[sizes_at_];
  for (std::uint32_t i = 1; i <= count; ++i) {
    words_.push_back(std::string_view(text_).substr(at, sizes_[sizes_at_ + i]));
    at += sizes_[sizes_at_ + i];
  }
  return words_;
}

void Transaction::finish_one() {
  assert(executing());
  for (const std::string_view word : words_) text_at_ += word.size();
  sizes_at_ += 1 + words_.size();
  if (sizes_at_ == sizes_.size()) discard();
}

// Gives the memory back too: a connection that once had a large transaction need not keep it.
void Transaction::forget() {
  std::string().swap(text_);
  std::vector<std::uint32_t>().swap(sizes_);
  std::vector<std::string_view>().swap(words_);
  size_ = text_at_ = sizes_at_ = 0;
}

}  // namespace weir::resp
