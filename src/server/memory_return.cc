#include "server/memory_return.h"

#include <malloc.h>

#include <algorithm>

namespace weir::server {
namespace {

constexpr int kLargeBlock = 256 << 10;

}  // namespace

void return_large_blocks() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
#endif
}

bool MemoryReturn::poll() {
  peak_ = std::max(peak_, memory_.take_peak());
  const std::size_t used = memory_.used();
  if (peak_ < used + kLeastFreed) return false;
  peak_ = used;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return true;
}

}  // namespace weir::server
