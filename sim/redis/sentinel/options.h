// What a Sentinel of the embedded world is told when it starts, and what it keeps over a restart.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "lib/net/network.h"

namespace holdfast::sim::embedded {

// In milliseconds, as SENTINEL DEBUG names and counts them.
struct SentinelPeriods {
  std::int64_t info = 10'000, ping = 1000, ask = 1000, publish = 2000, election = 10'000;
};

// The file that a real one writes: whom it watches, whom it knows, and for whom it voted.
struct SentinelMemory {
  std::string id = {};  // "": it never ran
  std::int64_t current_epoch = 0, config_epoch = 0, leader_epoch = 0;
  Endpoint primary = {};
  std::set<Endpoint> replicas = {};
  std::map<std::string, Endpoint> sentinels = {};  // by id
};

struct SentinelOptions {
  Endpoint listen = {};
  Endpoint announced = {};  // the address that it tells others
  std::string primary_name = "mymaster";
  Endpoint primary = {};
  std::int64_t quorum = 2;
  std::int64_t down_after_ms = 30'000, failover_timeout_ms = 180'000, parallel_syncs = 1;
  SentinelPeriods periods = {};
  SentinelMemory* memory = nullptr;  // outlives it
};

}  // namespace holdfast::sim::embedded
