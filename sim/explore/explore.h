// Explore: a scenario in every way in which at most so many things go otherwise.
//
// Usual is: each message takes the shortest time that the file allows, each pause of a client is its
// shortest, of the tasks that can run the first goes on, and a fault acts at the last place of those that are
// given (with `nth = "1..40"` at none, if the run has fewer). Otherwise is: a message or a pause that takes
// twice as long, or its longest time; another task; another place. Draws that are 64 bits at once (names of
// owners, jitter between attempts) stay as the seed gives them. No violation, complete: there is none in any
// such run, which is more than any number of seeds says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "sim/explore/search.h"
#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"
#include "sim/world/decisions.h"

namespace holdfast::sim {

// What went otherwise, in the words of decisions.h.
struct Otherwise {
  std::string stream;
  Drawn::Kind kind = Drawn::Kind::number;
  std::uint64_t number = 0;
  std::uint64_t usual = 0, value = 0;
};

struct ExploreState {
  SearchState search;
  std::int64_t virtual_ns = 0;
  std::uint64_t grants = 0;
  std::uint64_t histories = 0;  // that differ
  std::uint64_t unjudged = 0;   // runs in which a check had nothing to say
  std::map<std::string, std::uint64_t> marks;
  // The first run that breaks a promise: as a case that is replayed, and what is not usual in it.
  struct Violation {
    Failure failure;
    HuntCase one;
    std::vector<Otherwise> otherwise;
  };
  std::optional<Violation> violation;
};

struct ExploreOptions {
  Ground ground;  // what its file leaves open stays at the scenario's defaults
  std::uint64_t seed = 1;
  std::uint32_t deviations = 2;
  std::uint64_t most_runs = UINT64_MAX;
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& one)> for_each = {};
  std::function<bool(const ExploreState&)> stop = {};  // asked between batches
};

// Deterministic: what it finds does not depend on `for_each`.
ExploreState explore(const ExploreOptions& options);

}  // namespace holdfast::sim
