/* Clock shim: preloaded into a real server, it makes the server's clocks obey the harness.
 *
 * clock_gettime, gettimeofday and time are answered from the machine's clock (by system call, so that nothing
 * here calls back into the C library) and the values in the file named by HOLDFAST_CLOCK_FILE (clock_shim.h).
 * It never allocates: the server's allocator reads the clock while it starts. */
#define _GNU_SOURCE
#include "sim/cluster/clock_shim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const struct HoldfastClock no_shift = {0, 0, 0};

static const struct HoldfastClock* shared_clock(void) {
  static const struct HoldfastClock* found;
  const struct HoldfastClock* at = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (at) return at;
  at = &no_shift;
  const char* path = getenv(HOLDFAST_CLOCK_VARIABLE);
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    void* memory = mmap(0, sizeof *at, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) at = memory;
    close(fd);
  }
  __atomic_store_n(&found, at, __ATOMIC_RELEASE); /* two threads at once map it twice: harmless */
  return at;
}

int clock_gettime(clockid_t id, struct timespec* into) {
  const int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  const int monotonic = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW ||
                        id == CLOCK_BOOTTIME;
  if (!wall && !monotonic) return (int)syscall(SYS_clock_gettime, id, into);
  const struct HoldfastClock* clock = shared_clock();
  int64_t ns = __atomic_load_n(wall ? &clock->wall_ns : &clock->monotonic_ns, __ATOMIC_ACQUIRE);
  if (!__atomic_load_n(&clock->frozen, __ATOMIC_ACQUIRE)) {
    const int result = (int)syscall(SYS_clock_gettime, id, into);
    if (result != 0) return result;
    ns += into->tv_sec * INT64_C(1000000000) + into->tv_nsec;
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
