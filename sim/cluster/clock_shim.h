/* What the clock shim and the harness share: one small file, mapped by both. Plain C.
 * Frozen: both clocks show exactly what stands here. Else the values are added to the machine's clocks. */
#pragma once

#include <stdint.h>

struct HoldfastClock {
  int64_t frozen;
  int64_t wall_ns;      /* frozen: since the epoch; else an offset */
  int64_t monotonic_ns; /* frozen: the reading; else an offset */
};

#define HOLDFAST_CLOCK_VARIABLE "HOLDFAST_CLOCK_FILE"
