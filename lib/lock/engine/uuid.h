// Random identifiers for owners.
#pragma once

#include <string>

#include "lib/runtime/runtime.h"

namespace holdfast {

// A version 4 UUID (RFC 4122): "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx". Drawn from the runtime now, so that
// copies of the process that were made before (forks, restored snapshots, clones of a container) draw others.
std::string random_uuid(Runtime& runtime);

}  // namespace holdfast
