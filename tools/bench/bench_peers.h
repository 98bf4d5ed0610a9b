// Locks of other libraries under the same load: the programs of peers/.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/bench.h"

namespace holdfast::tools {

struct PeerLibrary {
  std::string name;                  // "redis-py Lock"
  std::vector<std::string> command;  // program and first arguments
  bool shares_connection = false;    // its callers can use one connection together
};

// Those that this machine can run; a note says what the others lack. Empty with --no-peers.
std::vector<PeerLibrary> find_peers(Bench& bench);

// One run against the first of `servers`; `load.kind` is ignored. Records the version of the library.
LoadResult run_peer(Bench& bench, const PeerLibrary& peer, BenchServers& servers, const Load& load);

// The path of a python3 that can import `module`, "" when there is none.
std::string find_python(const std::string& module);

}  // namespace holdfast::tools
