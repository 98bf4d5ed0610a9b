// NoLock: what locks are compared with. It grants everything at once, to everybody, and asks no server.
#pragma once

#include "sim/client/lock_kind.h"

namespace holdfast::sim {

// Not in `holdfast list locks`: for WorkloadOptions::own_lock. For clients of one thread of control (fibers).
const LockKind& no_lock_kind();

}  // namespace holdfast::sim
