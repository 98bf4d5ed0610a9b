// How fast the clock of each server goes, for truth.cc: what its records have left passes at that rate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "checker/history/history.h"

namespace holdfast::checker {

class ServerClocks {
 public:
  // From now on it is so much too fast. Returns its rate before, in parts per million of world time.
  std::int64_t drift(Symbol node, std::int64_t ppm) { return std::exchange(rate(node), kMillion + ppm); }

  // What `world_ns` of world time is by a clock of that rate.
  static std::int64_t by_clock(std::int64_t world_ns, std::int64_t rate) {
    return scaled(world_ns, rate, kMillion);
  }
  std::int64_t in_world_time(Symbol node, std::int64_t of_its_clock_ns) {
    return scaled(of_its_clock_ns, kMillion, std::max<std::int64_t>(1, rate(node)));
  }
  // When its clock, which shows `now_ns`, will show `until_ns`.
  std::int64_t in_world_time(Symbol node, std::int64_t now_ns, std::int64_t until_ns) {
    return now_ns + in_world_time(node, until_ns - now_ns);
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  std::int64_t& rate(Symbol node) { return rates_.try_emplace(node, kMillion).first->second; }
  static std::int64_t scaled(std::int64_t time_ns, std::int64_t by, std::int64_t over) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(time_ns) * by / over);
  }
  std::map<Symbol, std::int64_t> rates_;
};

}  // namespace holdfast::checker
