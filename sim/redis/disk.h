// Disk: what a server left behind. It belongs to the cluster and outlives the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/redis/write_back.h"

namespace holdfast::sim::embedded {

enum class PersistenceMode { none, rdb, aof_always, aof_everysec, aof_no };

// Where in which stream of effects a dump was written: a replica that starts with it goes on from there, and
// the replicas of a primary that does need no more than what is missing.
struct StreamPlace {
  std::string id;
  std::int64_t offset = 0;
  int db = 0;  // that the stream has selected
};

// A crash of the process (SIGKILL) loses nothing that was handed to the kernel, so everything here survives
// it. A power loss cuts `appended` to what `written` says. Dumps are synced before they get their names.
struct Disk {
  std::string snapshot;  // the last dump
  std::optional<StreamPlace> snapshot_place;
  bool has_append_only = false;
  std::string base;       // of the append-only file: a dump
  std::string appended;   // commands since, in RESP
  WriteBack written;      // how much of `appended` the disk has
  bool full = false;      // nothing can be appended
  Duration sync_delay{};  // so much longer takes each sync of `appended`

  // `now`: on the clock of the server's machine.
  void lose_power(MonotonicTime now) {
    appended.resize(written.length(now, appended.size()));
    written = WriteBack(appended.size());
  }
};

}  // namespace holdfast::sim::embedded
