// The end of a hunt: what it found is made small, told, and written.
#pragma once

#include <string>

#include "tools/holdfast/exit_code.h"
#include "tools/holdfast/hunt_record.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

// In the folder of `--out`, beside the finds.
inline constexpr const char* kHuntFile = "hunt.json";

struct EndArguments {
  unsigned jobs = 1;
  std::uint64_t real = 0;  // so often is each find run on real servers
  std::string out, json;   // "" none
  Terminal terminal = {};
};

// Makes small what is not small yet in `record` and keeps it there; writes a scenario file for each find, and
// the record; prints what people read. After SIGINT it makes do with what it has.
// Exit 1: a promise was broken.
ExitCode end_hunt(HuntRecord& record, const EndArguments& arguments);

}  // namespace holdfast::tools
