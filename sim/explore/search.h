// Search: every way in which a program can go in which at most so many of its decisions are not as usual.
//
// The program is run again for each way, from its beginning, and asked nothing else: it calls choose() at
// each decision that has alternatives, always in the same order as long as the answers are the same. Ways
// with fewer deviations come first, so that the first one that shows something is as near to the usual as
// any.
//
// A program may say more, and then less is run:
//
//   moment(state)  its time goes on, and its past has that digest. Two ways that come to the same state at
//                  the beginning of a moment go on alike; the one that comes later, with no fewer deviations,
//                  ends there. It is compared after the last deviation of a way only: before that it goes as
//                  the way that it comes from.
//   apart          alternatives at a decision by which something goes first that has nothing to do with what
//                  usually does. They are ways only if the moment turns out crossed(): if at that moment the
//                  two had something to do with each other after all. That is seen in the way that is run, or
//                  in one that comes from it at the same moment, and then also what came before in that
//                  moment is gone into.
//
// Why nothing is missed: take any way, and in it the first moment at which it differs from all that were run.
// If no two parties were in each other's way at that moment, each did what it does in the way in which the
// parties go one after another as usual, with the same alternatives of its own, and that one was run: the
// states after it are the same. If two were, then in the way that was run with these alternatives, up to
// where they meet, they meet, too: it is crossed, and all orders of it are run.
//
// Sources: stateless search by replay (Godefroid, Model Checking for Programming Languages using VeriSoft,
// POPL 1997); bounding what goes otherwise in the place of the depth (Musuvathi and Qadeer, Iterative Context
// Bounding, PLDI 2007; Emmi, Qadeer and Rakamaric, Delay-Bounded Scheduling, POPL 2011); orders that are gone
// into where a run has shown that they matter (Flanagan and Godefroid, Dynamic Partial-Order Reduction, POPL
// 2005).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace holdfast::sim {

struct Deviation {
  std::uint32_t point = 0;   // the how many-th decision of the run, from 0
  std::uint32_t choice = 0;  // above 0, which is the usual one
  friend bool operator==(const Deviation&, const Deviation&) = default;
};
using Path = std::vector<Deviation>;  // by point, ascending

// Decisions are of kinds, each of which may have a bound of its own.
inline constexpr std::size_t kDecisionKinds = 3;
struct Deviations {
  std::uint32_t all = 0;
  std::array<std::uint32_t, kDecisionKinds> of_kind = {};
  bool within(const Deviations& most) const;
};

class SeenStates;

class Chooser {
 public:
  explicit Chooser(Path path, const SeenStates* seen = nullptr) : path_(std::move(path)), seen_(seen) {}
  // 0 .. choices - 1. `apart`: bits of alternatives, see above. REQUIRES: choices >= 2
  std::uint32_t choose(std::uint32_t choices, std::size_t kind = 0, std::uint64_t apart = 0);
  // False: a way that was run before goes on from here, and this one ends.
  bool moment(std::uint64_t state);
  void crossed();  // of the present moment

  const Path& path() const { return path_; }
  bool joined() const { return joined_; }  // moment() said false
  struct Point {
    std::uint32_t choices = 0;
    std::uint8_t kind = 0;
    std::uint64_t apart = 0;
  };
  struct Moment {
    std::uint32_t first = 0;             // point
    std::optional<std::uint64_t> state;  // nullopt: the program has not said
    bool crossed = false;
  };
  const std::vector<Point>& asked() const { return asked_; }  // the decisions so far
  const std::vector<Moment>& moments() const { return moments_; }
  const Deviations& used() const { return used_; }

 private:
  Path path_;
  const SeenStates* seen_;
  std::size_t next_ = 0;  // in path_
  Deviations used_;
  bool joined_ = false;
  std::vector<Point> asked_;
  std::vector<Moment> moments_;  // all but the last have decisions
};

struct SearchState {
  std::uint64_t runs = 0;
  std::uint64_t joined = 0;                         // of these: ended where another had been
  std::uint64_t states = 0;                         // that differ, at which something was decided
  std::uint32_t deviations = 0;                     // the most of a way so far
  std::uint64_t least_points = 0, most_points = 0;  // decisions with alternatives in a run to its end
  // Ways that are known and were not run. Each that is run may show more; those with the most deviations show
  // almost none.
  std::uint64_t left = 0;
  bool complete = false;  // else it is for one deviation less than `deviations`, if that was not the first
};

inline constexpr std::uint32_t kAll = UINT32_MAX;

struct SearchOptions {
  std::uint32_t deviations = 2;                                            // kAll: no bound
  std::array<std::uint32_t, kDecisionKinds> of_kind = {kAll, kAll, kAll};  // besides
  std::uint64_t most_runs = UINT64_MAX;
  // Runs the program for each of these choosers; on as many threads as it likes, and returns when all are
  // done.
  std::function<void(std::vector<Chooser>&)> run = {};
  // Of a run, in the order of the search: false ends it. `at` is its place in the last call of `run`.
  std::function<bool(std::size_t at, const Chooser&)> take = {};
  // Told after that, of a run that did not end it: its decisions before that point may go otherwise in ways
  // of their own. From there on another way of the same batch had been in its state.
  std::function<void(const Chooser&, std::uint32_t point)> gone_into = {};
  // Asked now and then; true ends the search where it is.
  std::function<bool(const SearchState&)> stop = {};
};

SearchState search(const SearchOptions& options);

}  // namespace holdfast::sim
