/* Clock shim: preloaded into a real server or a foreign client, it makes its clocks obey the harness, and tells
 * the harness what a server has synced, so that a power loss can take the rest; the server's disk is full or
 * slow when the harness says so.
 *
 * clock_gettime, gettimeofday and time are answered from the machine's clock (by system call, so that nothing
 * here calls back into the C library) and the values in the file named by HOLDFAST_CLOCK_FILE (clock_shim.h).
 * It never allocates: the server's allocator reads the clock while it starts. */
#define _GNU_SOURCE
#include "sim/cluster/clock_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static struct HoldfastClock no_shift;

static struct HoldfastClock* shared_clock(void) {
  static struct HoldfastClock* found;
  struct HoldfastClock* at = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (at) return at;
  at = &no_shift;
  const char* path = getenv(HOLDFAST_CLOCK_VARIABLE);
  const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (fd >= 0) {
    void* memory = mmap(0, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      at = memory;
      __atomic_store_n(&at->attached, 1, __ATOMIC_RELEASE);
    }
    close(fd);
  }
  __atomic_store_n(&found, at, __ATOMIC_RELEASE); /* two threads at once map it twice: harmless */
  return at;
}

static int64_t machine_ns(const struct timespec* time) {
  return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec* into) {
  const int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  const int monotonic = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW ||
                        id == CLOCK_BOOTTIME;
  if (!wall && !monotonic) return (int)syscall(SYS_clock_gettime, id, into);
  const struct HoldfastClock* clock = shared_clock();
  int64_t ns, ppm, since;
  uint64_t before, after;
  do {
    before = __atomic_load_n(&clock->changes, __ATOMIC_SEQ_CST);
    ns = __atomic_load_n(wall ? &clock->wall_ns : &clock->monotonic_ns, __ATOMIC_SEQ_CST);
    ppm = __atomic_load_n(&clock->drift_ppm, __ATOMIC_SEQ_CST);
    since = __atomic_load_n(&clock->drifts_since_ns, __ATOMIC_SEQ_CST);
    after = __atomic_load_n(&clock->changes, __ATOMIC_SEQ_CST);
  } while (before != after || (before & 1) != 0);
  if (!__atomic_load_n(&clock->frozen, __ATOMIC_ACQUIRE)) {
    const int result = (int)syscall(SYS_clock_gettime, id, into);
    if (result != 0) return result;
    ns += machine_ns(into);
    if (ppm != 0) {
      struct timespec now;
      if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0) return -1;
      ns += holdfast_gained_ns(machine_ns(&now) - since, ppm);
    }
  }
  into->tv_sec = ns / 1000000000;
  into->tv_nsec = ns % 1000000000;
  return 0;
}

int gettimeofday(struct timeval* restrict into, void* restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* into) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}

static void note_synced(int fd, int64_t bytes) {
  char link[32], path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  const char* slash = strrchr(path, '/');
  const uint64_t name = holdfast_file_name(slash ? slash + 1 : path);
  struct HoldfastClock* shared = shared_clock();
  int at = 0;
  while (at < HOLDFAST_SYNCED_FILES && __atomic_load_n(&shared->synced[at].name, __ATOMIC_ACQUIRE) != name)
    ++at;
  if (at == HOLDFAST_SYNCED_FILES) { /* a new one: it comes first, the oldest falls off */
    memmove(&shared->synced[1], &shared->synced[0], sizeof shared->synced - sizeof shared->synced[0]);
    at = 0;
    __atomic_store_n(&shared->synced[0].bytes, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&shared->synced[0].name, name, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&shared->synced[at].bytes, bytes, __ATOMIC_RELEASE);
}

static int64_t machine_now_ns(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return machine_ns(&now);
}

/* In short sleeps: a disk that is quick again ends the sync under way. */
static void wait_for_slow_disk(void) {
  const int64_t began = machine_now_ns(), longest = 5000000;
  for (;;) {
    const int64_t left =
        began + __atomic_load_n(&shared_clock()->sync_delay_ns, __ATOMIC_ACQUIRE) - machine_now_ns();
    if (left <= 0) return;
    const struct timespec nap = {.tv_nsec = left < longest ? left : longest};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, 0);
  }
}

/* The server appends to its file by write(); sockets and pipes are no files. */
ssize_t write(int fd, const void* bytes, size_t size) {
  struct stat what;
  if (__atomic_load_n(&shared_clock()->disk_full, __ATOMIC_ACQUIRE) && fstat(fd, &what) == 0 &&
      S_ISREG(what.st_mode)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, fd, bytes, size);
}

int fsync(int fd) {
  wait_for_slow_disk();
  return (int)syscall(SYS_fsync, fd);
}

/* The server syncs in its main thread or in one of its own, never one file in two at once. */
int fdatasync(int fd) {
  wait_for_slow_disk();
  struct stat before;
  const int known = fstat(fd, &before) == 0;
  const int result = (int)syscall(SYS_fdatasync, fd);
  if (result == 0 && known) note_synced(fd, before.st_size);
  return result;
}
