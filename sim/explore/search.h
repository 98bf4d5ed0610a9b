// Search: every way in which a program can go in which at most so many of its decisions are not as usual.
//
// The program is run again for each way, from its beginning, and asked nothing else: it calls choose() at
// each decision that has alternatives, always in the same order as long as the answers are the same. Ways
// with fewer deviations come first, so that the first one that shows something is as near to the usual as
// any.
//
// Sources: stateless search by replay (Godefroid, Model Checking for Programming Languages using VeriSoft,
// POPL 1997); bounding what goes otherwise in the place of the depth (Musuvathi and Qadeer, Iterative Context
// Bounding, PLDI 2007; Emmi, Qadeer and Rakamaric, Delay-Bounded Scheduling, POPL 2011).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace holdfast::sim {

struct Deviation {
  std::uint32_t point = 0;   // the how many-th decision of the run, from 0
  std::uint32_t choice = 0;  // above 0, which is the usual one
  friend bool operator==(const Deviation&, const Deviation&) = default;
};
using Path = std::vector<Deviation>;  // by point, ascending

class Chooser {
 public:
  explicit Chooser(Path path) : path_(std::move(path)) {}
  // 0 .. choices - 1. REQUIRES: choices >= 2
  std::uint32_t choose(std::uint32_t choices);
  const Path& path() const { return path_; }
  // How many choices there were at each decision so far.
  const std::vector<std::uint32_t>& asked() const { return asked_; }

 private:
  Path path_;
  std::size_t next_ = 0;  // in path_
  std::vector<std::uint32_t> asked_;
};

struct SearchState {
  std::uint64_t runs = 0;
  std::uint32_t deviations = 0;                     // of the ways that are run just now
  std::uint64_t least_points = 0, most_points = 0;  // decisions with alternatives in a run
  bool complete = false;
};

struct SearchOptions {
  std::uint32_t deviations = 2;
  std::uint64_t most_runs = UINT64_MAX;
  // Runs the program for each of these choosers; on as many threads as it likes, and returns when all are
  // done.
  std::function<void(std::vector<Chooser>&)> run = {};
  // Of a run, in the order of the search: false ends it. `at` is its place in the last call of `run`.
  std::function<bool(std::size_t at, const Chooser&)> take = {};
  // Asked between batches of runs: true ends the search.
  std::function<bool(const SearchState&)> stop = {};
};

// Complexity: with n decisions of c choices and d deviations, sum over i <= d of C(n, i) (c - 1)^i runs;
// memory for those with d - 1.
SearchState search(const SearchOptions& options);

}  // namespace holdfast::sim
