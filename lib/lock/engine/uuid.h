// Random identifiers for owners.
#pragma once

#include <string>

#include "lib/runtime/runtime.h"

namespace holdfast {

// A version 4 UUID (RFC 9562): "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx". Drawn from the runtime now, so that
// copies of the process that were made before (forks, restored snapshots, clones of a container) draw others.
std::string random_uuid(Runtime& runtime);

// As random, but of version 8 ("xxxxxxxx-xxxx-8xxx-..."), which leaves the meaning to whoever makes it: a
// process whose locks' records tell their kind. Those of version 4, of earlier processes, do not.
std::string telling_uuid(Runtime& runtime);

}  // namespace holdfast
