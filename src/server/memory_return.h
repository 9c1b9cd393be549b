// MemoryReturn: gives memory that connections no longer use back to the system.
//
// The C library keeps what is freed. Large blocks it can give back at once, if its threshold for them does not creep
// upward as it does by default (return_large_blocks); the rest it gives back when asked, which takes a while and holds
// up threads that allocate meanwhile, so it is asked from a background task, only after much was freed, and not often.
//
// poll() from one thread.
#pragma once

#include <cstddef>

#include "frontends/transport/connection_memory.h"

namespace weir::server {

// For the whole process, once, before it has threads.
void return_large_blocks();

class MemoryReturn {
 public:
  // Less is not worth the trouble.
  static constexpr std::size_t kLeastFreed = std::size_t{8} << 20;

  explicit MemoryReturn(transport::ConnectionMemory& memory) : memory_(memory) {}

  // True: memory was given back.
  bool poll();

 private:
  transport::ConnectionMemory& memory_;
  std::size_t peak_ = 0;  // since memory was last given back
};

}  // namespace weir::server
