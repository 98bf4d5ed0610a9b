// INFO: the sections that clients of locks read.
#pragma once

#include <string>

#include "sim/redis/resp.h"

namespace holdfast::sim::embedded {

class Engine;

// The sections named ("replication", "all", ...); none: the default ones.
std::string info_text(Engine& engine, Args sections);

}  // namespace holdfast::sim::embedded
