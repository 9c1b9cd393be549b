// Loaded into a redis-server by LD_PRELOAD: its wall clock is the machine's plus the microseconds in the
// eight bytes of the file $WEIR_CLOCK_SHIM. The steady clock is left alone. (libfaketime hangs Debian's redis-server.)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

const volatile std::int64_t* offset_us = nullptr;

__attribute__((constructor)) void map_offset() {
  const char* const path = std::getenv("WEIR_CLOCK_SHIM");
  if (path == nullptr) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) std::abort();
  void* const page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) std::abort();
  offset_us = static_cast<const volatile std::int64_t*>(page);
}

std::int64_t shifted_us() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000 + (offset_us == nullptr ? 0 : *offset_us);
}

}  // namespace

extern "C" int gettimeofday(timeval* into, void*) noexcept {
  const std::int64_t now = shifted_us();
  into->tv_sec = now / 1'000'000;
  into->tv_usec = now % 1'000'000;
  return 0;
}

extern "C" int clock_gettime(clockid_t clock, timespec* into) noexcept {
  if (clock != CLOCK_REALTIME) return static_cast<int>(syscall(SYS_clock_gettime, clock, into));
  const std::int64_t now = shifted_us();
  into->tv_sec = now / 1'000'000;
  into->tv_nsec = now % 1'000'000 * 1'000;
  return 0;
}

extern "C" time_t time(time_t* into) noexcept {
  const time_t now = shifted_us() / 1'000'000;
  if (into != nullptr) *into = now;
  return now;
}
