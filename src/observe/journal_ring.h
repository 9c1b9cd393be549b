// JournalRing: records of different sizes in a ring of bytes of fixed size. The newest replace the oldest.
//
// A record's position grows forever; it is that of its first byte since the ring was made. One writer and any number of
// readers, each on a thread of its own. A lock is held to write a record, or to copy at most kCopyBytes, so neither
// keeps the other waiting for more than about a microsecond.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::observe {

class JournalRing {
 public:
  static constexpr std::size_t kCopyBytes = std::size_t{16} << 10;
  static constexpr std::size_t kMaxRecord = kCopyBytes / 2;

  // At least 4 * kMaxRecord.
  explicit JournalRing(std::size_t bytes);

  // The writer only. The record is at most kMaxRecord bytes.
  std::uint64_t append(std::string_view record);
  // The writer only: adds one to the 32-bit number at `offset` in the record at `position`. False: it is gone.
  bool increment(std::uint64_t position, std::size_t offset);

  // From any thread. Where the next record will be, and how many there have been.
  struct End {
    std::uint64_t position = 0;
    std::uint64_t written = 0;
  };
  End end() const;

  // Calls see(position, record) for the records from `from` on, oldest first, until there are no more or it returns
  // false. Records may be replaced meanwhile: those are left out. Returns where to go on.
  template <typename See>
  std::uint64_t read(std::uint64_t from, See see) const {
    std::string copied;
    while (true) {
      copy(from, copied);
      if (copied.empty()) return from;
      std::string_view rest = copied;
      while (const std::size_t size = whole_record(rest)) {
        const std::uint64_t position = from;
        from += size;
        const std::string_view record = rest.substr(kSizeBytes, size - kSizeBytes);
        rest.remove_prefix(size);
        if (!is_filler(record) && !see(position, record)) return from;
      }
    }
  }

 private:
  // Each record has its size, with these bytes, in front of it; all sizes are multiples of 8.
  static constexpr std::size_t kSizeBytes = 8;

  class Lock;
  // The size of the record at the start of `bytes`; 0: it is not all there.
  static std::size_t whole_record(std::string_view bytes);
  static bool is_filler(std::string_view record) { return record.empty() || record[0] == '\0'; }
  // Copies from `from` on; moves it to the oldest record if its own is gone.
  void copy(std::uint64_t& from, std::string& into) const;
  void write(std::uint64_t size, std::string_view record);
  void make_room(std::size_t size);
  std::size_t place(std::uint64_t position) const { return static_cast<std::size_t>(position % bytes_.size()); }

  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  // All guarded by busy_.
  std::vector<char> bytes_;
  std::uint64_t begin_ = 0;  // position of the oldest record
  std::uint64_t end_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace weir::observe
