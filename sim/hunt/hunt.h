// Hunt: run after run of cases that nobody wrote. Those that came through something new are kept and changed,
// until a promise of the lock is broken.
//
// Run number n is drawn from (seed, n) and, with feedback, from the corpus as it stood at the beginning of
// n's generation: so one seed gives one hunt, whatever the number of threads, and whether it was gone on with
// at a generation's end or ran through. A case is drawn from nothing, or is one of the corpus with something
// changed, or goes on from the moment at which one of the corpus was new, with fresh draws from there on.
//
// Sources: swarm testing (Groce et al., ISSTA 2012); coverage feedback (AFL); going on from a moment of
// interest: Antithesis, and moonpool's explorer (https://github.com/PierreZ/moonpool).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/hunt/corpus.h"
#include "sim/hunt/coverage.h"
#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

inline constexpr std::uint64_t kGeneration = 64;             // runs
inline constexpr std::uint64_t kRunsBetweenRepeats = 1'000;  // one is run twice, and its traces compared

// Failures of one name: the first run that showed it, and how many did.
struct Find {
  Failure failure;
  HuntCase first;
  std::uint64_t run = 0;   // its number
  std::uint64_t seed = 0;  // of its hunt
  std::uint64_t count = 0;
};

// All that a hunt knows: it can be stored, gone on with, and joined with others (join_hunts.h).
struct HuntState {
  std::uint64_t runs = 0;
  std::int64_t virtual_ns = 0;
  std::uint64_t grants = 0;
  std::uint64_t role_changes = 0;  // during a claim: role_changes.h
  std::uint64_t unjudged = 0;      // runs in which a check had nothing to say
  std::uint64_t features = 0, corpus = 0;
  std::uint64_t singletons = 0;       // features that one run only came through: what Good-Turing counts
  std::map<std::string, Find> finds;  // by name
  std::map<std::string, std::uint64_t> marks;  // that were hit, in how many runs
  std::uint64_t trace = 0;                     // over all runs in their order
  Coverage coverage;
  std::vector<CorpusEntry> entries;   // with feedback: the corpus, when the hunt has ended
  std::vector<std::uint64_t> traces;  // of a shard: of each of its runs

  // How many features the next run is expected to show that none did, at most: those that one run only came
  // through, a run (Good 1953, for words). 1 with no run.
  double unseen() const;
};

struct HuntOptions {
  Ground ground;
  std::uint64_t seed = 1;
  std::uint64_t runs = 1'000;  // the most, those of `from` among them; a generation that began is run whole
  bool feedback = true;
  // Calls `one` for 0..count-1, on as many threads as it likes, and returns when all are done. None: in turn.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& one)> for_each = {};
  // Without feedback: only runs whose number is `shard` modulo `shards`. REQUIRES: shard < shards
  std::uint64_t shard = 0, shards = 1;
  // What an earlier part of this hunt left, with the same options but `runs`. With feedback it is the same
  // hunt if its runs are whole generations.
  HuntState from = {};
  // Asked between generations.
  std::function<bool(const HuntState&)> stop = {};
  std::function<void(const HuntState&)> progress = {};
};

HuntState hunt(HuntOptions options);

// A trace over a few cases of this ground that are drawn from nothing: two builds of which one draws or runs
// otherwise differ in it, as good as always.
std::uint64_t probe_of(const Ground& ground);

}  // namespace holdfast::sim
