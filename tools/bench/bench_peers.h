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
  bool quorum = false;               // lives on several independent servers
  std::string version_of = {};       // whose version it tells, if not its own: "redis-rb"
};

// Those that this machine can run; a note says what the others lack. Empty with --no-peers.
std::vector<PeerLibrary> find_peers(Bench& bench);

// One run on servers that are empty before and after it; `load.kind` is ignored. Records the version of the
// library. Callers that are processes of their own tell no hand_off.
LoadResult run_peer(Bench& bench, const PeerLibrary& peer, const Load& load);

// The path of a python3 that can import `module`, "" when there is none.
std::string find_python(const std::string& module);

}  // namespace holdfast::tools
