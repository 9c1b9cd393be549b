// Makes writes to some files fail, and notes when the usage log reached the disk, for tests: LD_PRELOAD it, with
//   FAILING_DISK_CONTROL  a file with `struct control` below. Shared memory: a test reads and writes it while the program
//                         runs, and after it was killed.
//   FAILING_DISK_PATH     files whose path contains this text may fail.
// Calls that count: write, pwrite, fsync, fdatasync and ftruncate.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct control {
  int succeed;  // so many calls still succeed; below 0: all
  int fail;     // and then so many fail
  int error;    // with this errno
  int unused;
  // When the last two groups of a usage log were on the disk: nanoseconds of CLOCK_MONOTONIC.
  long long last_group;
  long long group_before;
};
static volatile struct control* control;
static const char* part;

__attribute__((constructor)) static void open_control(void) {
  const char* path = getenv("FAILING_DISK_CONTROL");
  part = getenv("FAILING_DISK_PATH");
  if (path == NULL || part == NULL) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) control = memory;
  close(file);
}

static int is_below(int file, const char* text) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strstr(path, text) != NULL;
}

static int fails(int file) {
  if (control == NULL || control->succeed < 0 || !is_below(file, part)) return 0;
  if (__sync_fetch_and_sub(&control->succeed, 1) > 0) return 0;
  control->succeed = 0;
  if (__sync_fetch_and_sub(&control->fail, 1) <= 1) control->succeed = -1;
  errno = control->error;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void* data, size_t size) { return fails(file) ? -1 : REAL(write)(file, data, size); }
ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  return fails(file) ? -1 : REAL(pwrite)(file, data, size, at);
}
ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  return fails(file) ? -1 : REAL(pwrite64)(file, data, size, at);
}
int fsync(int file) { return fails(file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) {
  if (fails(file) || REAL(fdatasync)(file) != 0) return -1;
  if (control == NULL || !is_below(file, ".usage")) return 0;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  control->group_before = control->last_group;
  control->last_group = now.tv_sec * 1000000000LL + now.tv_nsec;
  return 0;
}
int ftruncate(int file, off_t size) { return fails(file) ? -1 : REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return fails(file) ? -1 : REAL(ftruncate64)(file, size); }
