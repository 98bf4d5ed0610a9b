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
  // The state after an operation of `kind` in `state`, or kIllegal.
  Number step(Number state, Number kind);
  // The kinds that are legal in `state`; nullptr: there are too many kinds to list.
  const std::vector<Number>* legal(Number state);
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct HashState {
    std::size_t operator()(const State& state) const noexcept;
  };
  Number number(const State& state);

  const Model& model_;
  const std::vector<Operation>& operations_;
  std::vector<Number> kinds_;         // by operation
  std::vector<std::size_t> example_;  // by kind: an operation of it
  std::unordered_map<State, Number, HashState> numbers_;
  std::vector<const State*> states_;                          // by number
  std::vector<Symbol> only_;                                  // by number: Model::only_owner()
  std::unordered_map<Symbol, std::vector<Number>> of_owner_;  // kinds
  Number compute(Number state, Number kind);
  Number* row_of(Number state);

  struct Step {
    std::uint64_t both = ~std::uint64_t{0};  // state and kind
    Number next = kIllegal;
  };
  std::vector<std::vector<Number>> rows_;  // by state: steps by kind; empty: not made
  std::uint64_t rows_bytes_ = 0;
  std::vector<Step> steps_;                 // a cache for states without a row; its size is a power of two
  std::vector<std::vector<Number>> legal_;  // by state
  std::vector<bool> listed_;
  State scratch_;  // so that a step allocates nothing
  std::uint64_t bytes_ = 0;
};

}  // namespace holdfast::checker
