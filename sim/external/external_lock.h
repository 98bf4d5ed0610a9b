// The lock of programs that bring their own. Nothing is known of it but what they tell.
#pragma once

#include <string>

#include "sim/client/lock_kind.h"
#include "sim/client/workload.h"

namespace holdfast::sim {

// A scenario file asks for it by kind = "external"; `holdfast list locks` does not have it.
const LockKind& external_lock_kind();

// Why the clients of this workload cannot be started on this machine, and what helps; "" they can, or they
// are no programs.
std::string missing_program(const WorkloadOptions& options);

}  // namespace holdfast::sim
