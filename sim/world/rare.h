// Rare: what real machines do now and then and a world by itself never does. The ports allow all of it:
//
//   reads    a read brings a part of what is there (a stream has no messages)
//   wakeups  a wait ends early, for no reason (Condition and Parker say that it may)
//   timers   a wait whose deadline has passed ends some time later (a busy machine)
//   window   a connection takes few bytes until they are read, so that a write is done in many pieces
//
// Embedded worlds only. Each process draws from streams of its own: "rare/NAME/reads", ...
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/world/duration_range.h"
#include "sim/world/rng.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Chains;

struct RareOptions {
  std::uint64_t reads_percent = 0, wakeups_percent = 0;
  DurationRange timers = {};  // how much later
  std::size_t window = 0;     // bytes; 0: as usual

  bool any() const {
    return reads_percent > 0 || wakeups_percent > 0 || timers.high.count() > 0 || window > 0;
  }
};

// In the processes whose names `whose` takes, those that there are and those to come. `chains` (null: none)
// says more of timers (chains.h), and outlives the world's tasks. Call it once, for an embedded world.
void make_rare(World& world, const RareOptions& options, Chains* chains,
               std::function<bool(std::string_view process)> whose);

// Of one process.
class Rare {
 public:
  Rare(const RareOptions& options, Chains* chains, std::string process, const Rng& rng);

  // How many bytes a read brings that could bring so many: at least one.
  std::size_t part_of(std::size_t bytes);
  // A wait that begins now ends after that at the latest, for no reason. nullopt: as usual.
  std::optional<Duration> early();
  // By how much a wait of a task in that role ends later whose deadline has come.
  Duration late(std::string_view role);
  std::size_t window(std::size_t usual) const { return options_.window == 0 ? usual : options_.window; }

 private:
  const RareOptions options_;
  Chains* const chains_;
  const std::string process_;
  Rng reads_, wakeups_, timers_;
};

}  // namespace holdfast::sim
