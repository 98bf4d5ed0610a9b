// StateGraph: numbers the states of a model and the kinds of its operations, and computes each step once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

class StateGraph {
 public:
  using Number = std::uint32_t;
  static constexpr Number kIllegal = 0xFFFFFFFFU;

  // Operations that are equal for the model have one kind.
  StateGraph(const Model& model, const std::vector<Operation>& operations);

  Number initial() const { return 0; }
  Number kind(std::size_t operation) const { return kinds_[operation]; }
  std::size_t kinds() const { return example_.size(); }
  // Model::only_owner() of the state.
  Symbol only_owner(Number state) const { return states_[state].only; }
  // The state after an operation of `kind` in `state`, or kIllegal.
  Number step(Number state, Number kind);
  // The kinds that are legal in `state`; nullptr: to list them is not worth its time.
  const std::vector<Number>* legal(Number state);
  std::uint64_t bytes() const { return bytes_; }

 private:
  Number number(const State& state);

  const Model& model_;
  const std::vector<Operation>& operations_;
  std::vector<Number> kinds_;                                 // by operation
  std::vector<std::size_t> example_;                          // by kind: an operation of it
  std::unordered_map<Symbol, std::vector<Number>> of_owner_;  // kinds; empty: not made
  struct About {
    std::size_t begin = 0;      // of its numbers in pool_
    std::uint32_t size = 0;     // how many they are
    Symbol only = 0;            // Model::only_owner()
    std::uint32_t asked = 0;    // steps from here, until there is a row
    std::uint32_t wanted = 0;   // how often legal() was called, until there is a list
    bool listed = false;        // `legal` is made
    std::vector<Number> row;    // steps by kind; empty: not made
    std::vector<Number> legal;  // kinds
  };
  std::vector<About> states_;         // by number
  std::vector<std::int64_t> pool_;    // the numbers of all states
  std::vector<std::uint32_t> table_;  // numbers of states, by hash; its size is a power of two
  std::size_t place_of(const State& state) const;
  void load(const About& about);
  std::size_t same_kind(std::size_t operation, std::vector<std::uint32_t>& table) const;
  Number compute(Number state, Number kind);
  Number* row_of(About& about);

  struct Step {
    std::uint64_t both = ~std::uint64_t{0};  // state and kind
    Number next = kIllegal;
  };
  std::uint64_t rows_bytes_ = 0;
  std::vector<Step> steps_;  // a cache for states without a row; its size is a power of two
  State scratch_;            // so that a step allocates nothing
  std::uint64_t bytes_ = 0;
};

}  // namespace holdfast::checker
