// Random identifiers for owners.
#pragma once

#include <string>

#include "lib/runtime/runtime.h"

namespace holdfast {

// A version 4 UUID (RFC 4122) drawn from the runtime: "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".
std::string random_uuid(Runtime& runtime);

}  // namespace holdfast
