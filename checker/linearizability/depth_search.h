// DepthSearch: the same question as search.h, depth first. It finds an order of a linearizable history almost
// at once, where the breadth-first search keeps every configuration that could still lead to one.
//
// After J. Wing and C. Gong, "Testing and verifying concurrent objects", Journal of Parallel and Distributed
// Computing 17 (1993), with the memory of G. Lowe, "Testing for linearizability", Concurrency and
// Computation: Practice and Experience 29 (2017): calls and returns stand in a list; the operations that are
// called before the first return in it are tried one after another; one that is legal leaves the list, and
// comes back when what follows fails. A configuration (which operations have happened, state) that was left
// without success is remembered and not entered again.
//
// It tries the operation that returns first (of a place in a queue: whose grant does), and those of unknown
// outcome last. Reductions that lose nothing, beside those of breadth_search.h:
//   - An operation that is legal now and stands in the way of nothing (forced.h) is the only choice.
//   - After an operation of unknown outcome, none is tried that leads to the same state without it, or in the
//     other order. A linearization with the fewest unknown operations, each as late as possible, has no such
//     pair.
//   - An operation of unknown outcome that changes nothing is not tried.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checker/linearizability/search.h"
#include "checker/linearizability/state_graph.h"

namespace holdfast::checker {

// Sets of configurations, as words in one block of memory.
class VisitedConfigurations {
 public:
  // False: that one is known, or one that is the same but has used fewer unknown operations. `known`: state
  // and what has happened of the operations with a known outcome; `unknown`: of the others.
  bool add(const std::vector<std::uint64_t>& known, const std::vector<std::uint64_t>& unknown);
  std::uint64_t bytes() const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  struct Entry {
    std::uint64_t hash = 0;  // of both
    std::size_t begin = 0;   // into words_: known, then unknown
    std::uint32_t known = 0, unknown = 0;
    std::uint32_t next = kNone;    // of the same bucket
    std::uint32_t before = kNone;  // the entry before it with an equal `known`
  };
  std::vector<std::uint64_t>::const_iterator at(std::size_t word) const {
    return words_.begin() + static_cast<std::ptrdiff_t>(word);
  }
  bool same_known(const Entry& entry, const std::vector<std::uint64_t>& known) const;
  void grow();

  std::vector<std::uint64_t> words_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_ = std::vector<std::uint32_t>(256, kNone);
  std::vector<std::uint32_t> newest_ = std::vector<std::uint32_t>(256, kNone);  // by hash of `known` alone
};

class DepthSearch {
 public:
  // REQUIRES: `operations` in the order of their invocations. They and the model outlive the search.
  DepthSearch(const std::vector<Operation>& operations, const Model& model, std::uint64_t bytes);
  // Looks at up to `steps` more configurations. nullopt: not decided yet.
  std::optional<SearchResult> advance(std::uint64_t steps);
  std::size_t settled() const { return result_.settled; }  // as in SearchProgress
  std::uint64_t widest() const { return result_.widest; }  // most configurations at one time

 private:
  using Number = StateGraph::Number;
  static constexpr Number kNoState = StateGraph::kIllegal;

  // A configuration on the way, and what is still to be tried in it.
  struct Frame {
    Number state = 0;
    Number without = kNoState;  // the state before the unknown operation that led here; else kNoState
    std::size_t choices =
        0;  // into choices_: what is left to try; of unknown outcome, the next one at the end,
    std::size_t known = 0;      // and from here on those of a known one, in any order
    std::size_t by = kNowhere;  // the operation that led here
  };
  void enter(Number state, Number without, std::size_t by);
  void leave();
  bool remember(Number state);
  void gather(Number state, Number without);
  void keep(std::size_t operation);
  void keep_unknown();
  std::size_t choose();
  bool available(std::size_t operation) const;
  bool is_useless(Number without, std::size_t operation, Number next);
  void lift(std::size_t operation);
  void put_back(std::size_t operation);
  void unlink(std::size_t entry);
  void link(std::size_t entry);

  const std::vector<Operation>& operations_;
  const std::uint64_t most_bytes_;
  StateGraph graph_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::size_t> next_, previous_entry_;  // the list; its head is endpoints_.size()
  std::vector<std::size_t> call_of_, return_of_;    // by operation: entries
  const ProcessOrder order_;
  const std::vector<bool> forced_;     // by operation: see forced.h
  std::vector<std::int64_t> urgency_;  // by operation: the time by which it should happen
  std::vector<bool> happened_;         // by operation
  std::vector<std::size_t> number_;    // by operation: among those of its sort
  std::vector<std::uint64_t> known_bits_, unknown_bits_;
  std::size_t floor_ = 0, known_ = 0, left_ = 0;  // all known ones below `floor_` have happened
  std::size_t used_ = 0;                          // unknown ones that have happened
  std::vector<Frame> frames_;
  std::vector<std::size_t> choices_, found_, found_unknown_;
  struct Met {
    std::uint64_t gathering = 0;  // the last one that met it
    std::size_t at = 0;           // in found_
  };
  std::vector<Met> met_;  // by kind
  std::uint64_t gathering_ = 0;
  std::vector<std::uint64_t> key_, unknown_key_;
  VisitedConfigurations visited_;
  std::size_t furthest_ = 0;  // the latest return that stood in the way: an order is known of those before it
  SearchResult result_;
  bool done_ = false;
};

}  // namespace holdfast::checker
