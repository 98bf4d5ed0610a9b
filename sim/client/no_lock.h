// NoLock: what locks are compared with. It grants everything at once, to everybody, and asks no server.
#pragma once

#include "sim/client/lock_kind.h"

namespace holdfast::sim {

// A scenario file asks for it by kind = "no-lock"; `holdfast list locks` does not have it. For clients of
// one thread of control (fibers).
const LockKind& no_lock_kind();

}  // namespace holdfast::sim
