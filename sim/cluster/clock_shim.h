/* What the clock shim and the harness share: one small file, mapped by both. Plain C.
 * Frozen: both clocks show exactly what stands here. Else the values are added to the machine's clocks.
 * With a drift, what the machine's monotonic clock has passed since `drifts_since_ns` counts for more or less,
 * in both clocks. Written between two changes of `changes`, to odd and to even again.
 * `disk_full` and `sync_delay_ns`: trouble with the disk.
 * `synced`: how long the files were that the server synced last (fdatasync), newest overwrite oldest. */
#pragma once

#include <stdint.h>

#define HOLDFAST_SYNCED_FILES 8

struct HoldfastSyncedFile {
  uint64_t name; /* holdfast_file_name() of its last path component; 0: none */
  int64_t bytes; /* its length before the sync that is over now */
};

struct HoldfastClock {
  int64_t frozen;
  int64_t wall_ns;      /* frozen: since the epoch; else an offset */
  int64_t monotonic_ns; /* frozen: the reading; else an offset */
  int64_t drift_ppm;
  int64_t drifts_since_ns;
  uint64_t changes;
  int64_t attached;      /* some program reads its clocks here */
  int64_t disk_full;     /* not 0: writes to files fail with ENOSPC */
  int64_t sync_delay_ns; /* each sync of a file takes so much longer */
  struct HoldfastSyncedFile synced[HOLDFAST_SYNCED_FILES];
};

/* What a clock with that drift gains in `passed_ns`. */
static inline int64_t holdfast_gained_ns(int64_t passed_ns, int64_t ppm) {
  return passed_ns / 1000000 * ppm + passed_ns % 1000000 * ppm / 1000000;
}

/* FNV-1a, never 0. A server never uses the name of an append-only file twice, but for an erased disk. */
static inline uint64_t holdfast_file_name(const char* name) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (; *name != 0; ++name) hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
  return hash != 0 ? hash : 1;
}

#define HOLDFAST_CLOCK_VARIABLE "HOLDFAST_CLOCK_FILE"
