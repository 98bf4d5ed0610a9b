// SurvivorOptions: what a lock needs so that a failover, a restart or a split brain grants it to nobody else.
//
// Replication of Redis is asynchronous: a primary that dies takes grants along that no replica has, and the
// promoted replica would grant them again. With LockOptions::survivor
// - a grant or renewal counts when a majority of the members have it, and the server that gave it was a
//   primary without a break and without a stranger among its replicas from the first write to the last look;
// - a server that is new in its role (its replication ID is not the one that its data name) grants nothing
//   until every claim made before has ended: its quarantine;
// - replicas whose link is younger than a quarantine do not count towards the majority.
// So any two majorities share a member, and what that member acknowledged for the one is over before it can
// acknowledge for the other. lib/lock/store/survivor_guard.lua has the rules.
//
// Under which assumptions it holds, what it costs and when not to use it: lib/README.md.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lib/runtime/time.h"

namespace holdfast {

struct SurvivorOptions {
  // All servers that may ever become the primary, as "host:port", as they announce themselves (INFO
  // replication of a primary names its replicas so), three at least. Their number is odd by custom; of four,
  // three have to acknowledge, as of five.
  std::vector<std::string> members = {};
  // No lease of any client is longer; a quarantine lasts a little more than this.
  Duration longest_lease = std::chrono::seconds(30);
  // How fast any clock may run against true time, in parts per million.
  int drift_ppm = 10'000;
  // The most that the steps of one server's clock within a quarantine add up to, and that two servers' clocks
  // are apart. It is taken off each claim, and added to the quarantine.
  Duration skew = std::chrono::milliseconds(100);
  // by_majority: a grant counts when a majority has acknowledged it.
  // by_lag: when so many replicas have acknowledged anything within the servers' min-replicas-max-lag: one
  // command and no wait. Two owners are then possible when a replica is promoted sooner than that lag, and a
  // second for the server to notice, after its primary was cut off; and when a replica goes back to follow an
  // old primary. The servers need min-replicas-to-write: "Allow writes only with N attached replicas" in
  // https://redis.io/docs/latest/operate/oss_and_stack/management/replication/
  enum class Acknowledged { by_majority, by_lag };
  Acknowledged acknowledged = Acknowledged::by_majority;  // see there
};

}  // namespace holdfast
