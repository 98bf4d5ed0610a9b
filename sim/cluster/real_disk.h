// RealDisk: what a power loss takes from the append-only files of a real server.
//
// The processes of a run share one machine, which keeps its power, so what the disk would have had is known
// from outside: the shim notes each fdatasync that the server made (clock_shim.c), and what the kernel writes
// back by itself follows write_back.h, from the lengths that saw() is told once a second. A loss cuts the end
// of the file, at the end of a write: no torn or garbled blocks. The bases and snapshots of Redis are synced
// before they get their names, so those stay as they are.
#pragma once

#include <map>
#include <string>

#include "sim/cluster/clock_control.h"
#include "sim/redis/write_back.h"

namespace holdfast::sim {

class RealDisk {
 public:
  // `folder`: the server's append-only files, once it has made it.
  explicit RealDisk(std::string folder) : folder_(std::move(folder)) {}

  void saw(MonotonicTime now);  // looks how long the files are; once a second
  // Cuts the files. REQUIRES: the server does not run. Throws std::filesystem::filesystem_error.
  void lose_power(MonotonicTime now, const ClockControl& synced);

 private:
  std::string folder_;
  std::map<std::string, WriteBack> files_;  // by name
};

}  // namespace holdfast::sim
