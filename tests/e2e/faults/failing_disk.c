// Makes writes to some files fail, for tests: LD_PRELOAD it, with
//   FAILING_DISK_CONTROL  a file of three 32-bit numbers: how many calls still succeed (below 0: all), how many fail then,
//                         and with which errno. Shared memory: a test arms it while the program runs.
//   FAILING_DISK_PATH     files whose path contains this text.
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
#include <unistd.h>

struct control {
  int succeed;
  int fail;
  int error;
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

static int fails(int file) {
  if (control == NULL || control->succeed < 0) return 0;
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  if (strstr(path, part) == NULL) return 0;
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
int fdatasync(int file) { return fails(file) ? -1 : REAL(fdatasync)(file); }
int ftruncate(int file, off_t size) { return fails(file) ? -1 : REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return fails(file) ? -1 : REAL(ftruncate64)(file, size); }
