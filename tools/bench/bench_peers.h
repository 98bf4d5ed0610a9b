// Peers: locks that others wrote, under the same load (tools/bench/peers).
#pragma once

#include <string>
#include <vector>

#include "tools/bench/bench.h"

namespace holdfast::tools {

struct Peer {
  std::string name;                  // "redis-py Lock"
  std::vector<std::string> command;  // program and first arguments
  bool shares_connection = false;    // its callers can use one connection together
};

// Those that can be run here; for each of the others one note says what is missing. Empty with --no-peers.
std::vector<Peer> find_peers(Bench& bench);

// One run against the first of `servers`; `load.kind` is not looked at. Notes the peer's version.
LoadResult run_peer(Bench& bench, const Peer& peer, BenchServers& servers, const Load& load);

// A python3 that can import `module`, "" when there is none.
std::string find_python(const std::string& module);

}  // namespace holdfast::tools
