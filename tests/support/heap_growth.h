// HeapGrowth: how many bytes more of the heap are in use than when it was made. For tests that something is used again
// and not made again. With a sanitizer's own heap it is always 0.
#pragma once

#include <malloc.h>

#include <cstdint>

namespace weir::tests {

class HeapGrowth {
 public:
  std::int64_t bytes() const { return in_use() - before_; }

 private:
  static std::int64_t in_use() {
    const struct mallinfo2 now = mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
  }

  const std::int64_t before_ = in_use();
};

}  // namespace weir::tests
