// Explore: a scenario in every way in which at most so many things go otherwise.
//
// Usual is: each message takes the shortest time that the file allows, each pause of a client is its
// shortest, of the tasks that can run the first goes on, and a fault with several places (`nth = "1..40"`)
// acts at the last of them, which may lie beyond the end of the run. Otherwise is: a message or a pause that
// takes twice as long, or its longest time; another task; another place. Draws that are 64 bits at once
// (names of owners, jitter between attempts) stay as the seed gives them. No violation, complete: there is
// none in any such run, which is more than any number of seeds says.
//
// All that is due at one moment comes up together (OrderKind::instant), so that messages and timers of one
// time race. With `reduce`, orders that come to the same are run once, and runs that come to a state where
// another was end there (search.h): what is compared is the past of each process and of each connection
// through the proxy (past.h). Clients, servers and connections are apart but for their messages; what the
// harness shares between them (the places of faults, rules on messages, what is known of an acquisition) it
// says. In the history, events of one time of different processes stand in any order; by its definition that
// order says nothing (checker/README.md), and one of them is judged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/explore/search.h"
#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"
#include "sim/world/decisions.h"

namespace holdfast::sim {

class Lineage;

// Kinds of decisions, each of which may have a bound of its own.
enum class Turn : std::uint8_t { order, time, fault };

// What went otherwise, in the words of decisions.h.
struct Otherwise {
  std::string stream;
  Drawn::Kind kind = Drawn::Kind::number;
  std::uint64_t number = 0;
  std::uint64_t usual = 0, value = 0;  // of a fault that may also never act: 0 is never
};

struct ExploreState {
  SearchState search;
  std::int64_t virtual_ns = 0;
  std::uint64_t grants = 0;
  // That differ in more than in the order of events of one time of different processes, of the runs that went
  // to their end.
  std::uint64_t histories = 0;
  std::uint64_t unjudged = 0;  // runs in which a check had nothing to say
  std::map<std::string, std::uint64_t> marks;
  // What was drawn, by what it is for ("network", "client", "fault/die"): the values that it was given, the
  // usual one first.
  struct Values {
    Drawn::Kind kind = Drawn::Kind::number;
    bool places = false;    // of a fault: all from the least to the greatest
    bool or_never = false;  // of these the greatest is none
    std::set<std::vector<std::uint64_t>> of_a_draw;
  };
  std::map<std::string, Values> values;
  // The first run that breaks a promise: as a case that is replayed, and what is not usual in it.
  struct Violation {
    Failure failure;
    HuntCase one;
    std::vector<Otherwise> otherwise;
  };
  std::optional<Violation> violation;
};

struct ExploreOptions {
  Ground ground = {};  // what its file leaves open stays at the scenario's defaults
  std::uint64_t seed = 1;
  std::uint32_t deviations = 2;                              // kAll: no bound
  std::uint32_t orders = kAll, times = kAll, faults = kAll;  // of these at most
  bool twice = true;                                         // a time may also be twice the shortest
  bool reduce = true;
  // Tests plant a wrong reduction: it takes states for equal in which only parties of these names, or whose
  // names begin so, went through different things (past.h).
  std::vector<std::string> forgotten = {};
  bool go_on = false;  // also after a broken promise; the first one is told of
  std::uint64_t most_runs = UINT64_MAX;
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& one)> for_each = {};
  std::function<bool(const ExploreState&)> stop = {};  // asked between batches
  // Told of each run that went to its end, in the order of the search, with the digest of its history that is
  // the same for all orders of events of one time of different processes.
  std::function<void(const Trial&, std::uint64_t history)> told = {};
  Lineage* lineage = nullptr;  // is told of each run (lineage.h)
};

// What is run, in which nothing is decided yet. Throws BadScenario.
HuntCase explored_case(const ExploreOptions& options);

// Deterministic: what it finds does not depend on `for_each`.
ExploreState explore(const ExploreOptions& options);

}  // namespace holdfast::sim
