// Disk: what a server left behind. It belongs to the cluster and outlives the process.
#pragma once

#include <string>

namespace holdfast::sim::embedded {

enum class PersistenceMode { none, rdb, aof_always, aof_everysec };

// A crash of the process (SIGKILL) loses nothing that was handed to the kernel, so everything here survives
// it.
struct Disk {
  std::string snapshot;  // the last dump
  bool has_append_only = false;
  std::string base;      // of the append-only file: a dump
  std::string appended;  // commands since, in RESP
};

}  // namespace holdfast::sim::embedded
