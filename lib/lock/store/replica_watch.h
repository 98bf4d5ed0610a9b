// ReplicaWatch: since when each replica has followed a primary without a break, as far as one client has
// seen.
//
// CLIENT LIST says how old the link of a replica is in whole seconds, and not whose link it is. Who has
// looked at the primary before knows more: INFO names the replicas, and how many have joined so far. Where
// nobody joined between two looks, who is in both has been there all the time; so has he where all who joined
// are in the second look alone.
//
// Thread safety: none. Complexity: of the number of replicas.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/time.h"

namespace holdfast {

// A time for which a server was a primary, and nobody joined it.
struct Stint {
  std::string replication_id;
  std::int64_t joined = 0;  // how many replicas have, so far
  friend bool operator==(const Stint&, const Stint&) = default;
};

// A replica, as a primary's INFO has it: https://redis.io/docs/latest/commands/info/
struct FollowingReplica {
  std::string address;  // "host:port", as it announces itself
  bool online = false;
  std::int64_t offset = 0;  // up to where it has acknowledged
};
std::vector<FollowingReplica> replicas_in(std::string_view info);
// The value of the line "NAME:value"; empty: there is none.
std::string_view info_value(std::string_view info, std::string_view name);

class ReplicaWatch {
 public:
  // What a primary that was asked at `asked` said of itself, at `seen` at the latest.
  void saw(const Stint& stint, const std::vector<FollowingReplica>& replicas, MonotonicTime asked,
           MonotonicTime seen);
  // Who has followed it from `since` on, until it was looked at last. Empty: that was in another stint.
  std::vector<std::string> followed(const Stint& stint, MonotonicTime since) const;
  // How many have, of the primary that was looked at last.
  std::size_t followed_the_last(MonotonicTime since) const;
  // From when on so many are known to have followed it; kNever: fewer do. REQUIRES: count > 0
  MonotonicTime so_many_since(std::size_t count) const;

 private:
  Stint stint_;
  MonotonicTime seen_{};
  std::map<std::string, MonotonicTime> since_;
};

}  // namespace holdfast
