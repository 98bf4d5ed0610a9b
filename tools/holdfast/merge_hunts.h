// Several hunts as one: shards of one hunt, or hunts of several seeds.
#pragma once

#include <string>
#include <vector>

#include "tools/holdfast/hunt_record.h"

namespace holdfast::tools {

struct ReadHunt {
  std::string path;
  HuntRecord record;
};

// Without feedback: all shards of one hunt, exactly what one hunt gives. With feedback: hunts of different
// seeds, the union of what they know. Throws BadUsage for what does not fit together. REQUIRES: not empty
HuntRecord merge_hunts(std::vector<ReadHunt> hunts);

}  // namespace holdfast::tools
