// What the kernel says of processes: who descends from whom, and what they have used.
#pragma once

#include <vector>

namespace holdfast {

// All that descend from `pid` now, parents before children; zombies left out.
std::vector<int> descendants_of(int pid);

// The letter of proc(5): 'S' sleeps, 'T' is stopped, 'Z' a zombie, ...; 'X': there is none.
char state_of(int pid);

// Seconds of CPU that `pid` and all that descend from it have used since they were started; those of them
// that have ended count when their parent has waited for them. 0: there is none. The kernel counts
// hundredths.
double cpu_seconds_of(int pid);

}  // namespace holdfast
