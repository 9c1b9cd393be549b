#include "observe/span.h"

#include <algorithm>
#include <bit>

namespace weir::observe {

SpanRing::SpanRing(std::size_t capacity) : spans_(std::bit_ceil(std::max<std::size_t>(capacity, 1))) {}

void SpanRing::push(const Span& span) {
  const std::uint64_t at = written_.load(std::memory_order_relaxed);
  if (at - read_.load(std::memory_order_acquire) == spans_.size()) {
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  spans_[at & (spans_.size() - 1)] = span;
  written_.store(at + 1, std::memory_order_release);
}

void SpanRing::pop(std::size_t most, std::vector<Span>& out) {
  const std::uint64_t first = read_.load(std::memory_order_relaxed);
  const std::uint64_t end = std::min(written_.load(std::memory_order_acquire), first + most);
  for (std::uint64_t at = first; at < end; ++at) out.push_back(spans_[at & (spans_.size() - 1)]);
  read_.store(end, std::memory_order_release);
}

}  // namespace weir::observe
