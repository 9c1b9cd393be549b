#include "observe/journal_ring.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace weir::observe {

class JournalRing::Lock {
 public:
  explicit Lock(std::atomic_flag& busy) : busy_(busy) {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Lock() { busy_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& busy_;
};

JournalRing::JournalRing(std::size_t bytes) : bytes_(bytes / 8 * 8) { assert(bytes_.size() >= 4 * kMaxRecord); }

std::size_t JournalRing::whole_record(std::string_view bytes) {
  if (bytes.size() < kSizeBytes) return 0;
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  return size <= bytes.size() ? static_cast<std::size_t>(size) : 0;
}

// The oldest records go until there is room for `size` more bytes.
void JournalRing::make_room(std::size_t size) {
  const std::uint64_t needed = end_ + size;
  while (needed - begin_ > bytes_.size()) {
    std::uint64_t oldest = 0;
    std::memcpy(&oldest, &bytes_[place(begin_)], sizeof oldest);
    begin_ += oldest;
  }
}

void JournalRing::write(std::uint64_t size, std::string_view record) {
  make_room(static_cast<std::size_t>(size));
  char* const to = &bytes_[place(end_)];
  std::memcpy(to, &size, sizeof size);
  if (!record.empty()) std::memcpy(to + kSizeBytes, record.data(), record.size());
  end_ += size;
}

// A record is in one piece: where it does not fit before the end of the bytes, a filler takes that place.
std::uint64_t JournalRing::append(std::string_view record) {
  assert(record.size() + kSizeBytes <= kMaxRecord && !record.empty() && record[0] != '\0');
  const std::size_t size = (kSizeBytes + record.size() + 7) / 8 * 8;
  const Lock lock(busy_);
  const std::size_t before_end = bytes_.size() - place(end_);
  if (before_end < size) {
    static constexpr std::string_view kFiller("\0", 1);
    write(before_end, before_end > kSizeBytes ? kFiller : std::string_view());
  }
  const std::uint64_t position = end_;
  write(size, record);
  ++written_;
  return position;
}

bool JournalRing::increment(std::uint64_t position, std::size_t offset) {
  const Lock lock(busy_);
  if (position < begin_ || position >= end_) return false;
  char* const at = &bytes_[place(position)] + kSizeBytes + offset;
  std::uint32_t count = 0;
  std::memcpy(&count, at, sizeof count);
  if (count < 0xffff'ffff) ++count;
  std::memcpy(at, &count, sizeof count);
  return true;
}

JournalRing::End JournalRing::end() const {
  const Lock lock(busy_);
  return {end_, written_};
}

void JournalRing::copy(std::uint64_t& from, std::string& into) const {
  into.clear();
  const Lock lock(busy_);
  from = std::max(from, begin_);
  if (from >= end_) return;
  const std::size_t there = std::min<std::uint64_t>({end_ - from, bytes_.size() - place(from), kCopyBytes});
  into.assign(&bytes_[place(from)], there);
}

}  // namespace weir::observe
