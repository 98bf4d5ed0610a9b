#include "state_graph.h"

#include <array>
#include <map>

namespace holdfast::checker {

namespace {

constexpr std::size_t kMostListedKinds = 4096;
constexpr std::size_t kMostSteps = std::size_t{1} << 20;  // remembered at one time

}  // namespace

std::size_t StateGraph::HashState::operator()(const State& state) const noexcept {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (const std::int64_t part : state) {
    hash ^= static_cast<std::uint64_t>(part);
    hash *= 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

StateGraph::StateGraph(const Model& model, const std::vector<Operation>& operations)
    : model_(model), operations_(operations) {
  std::map<std::array<std::int64_t, 7>, Number> known;
  kinds_.reserve(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    const bool owners = model.owners();
    const auto [at, fresh] = known.try_emplace(
        {static_cast<std::int64_t>(each.f), owners ? each.owner : 0, owners ? each.process : 0,
         each.shared ? 1 : 0, each.permits, each.value, each.token},
        static_cast<Number>(example_.size()));
    if (fresh) example_.push_back(i);
    kinds_.push_back(at->second);
  }
  number(model.initial());
}

StateGraph::Number StateGraph::number(State state) {
  const auto [at, fresh] = numbers_.try_emplace(std::move(state), static_cast<Number>(states_.size()));
  if (fresh) {
    states_.push_back(&at->first);
    legal_.emplace_back();
    listed_.push_back(false);
    bytes_ += 128 + at->first.size() * sizeof(std::int64_t);
  }
  return at->second;
}

StateGraph::Number StateGraph::step(Number state, Number kind) {
  const std::uint64_t at = (std::uint64_t{state} << 32) | kind;
  if (const auto found = steps_.find(at); found != steps_.end()) return found->second;
  State next = *states_[state];
  const Number result = model_.step(next, operations_[example_[kind]]) ? number(std::move(next)) : kIllegal;
  if (steps_.size() >= kMostSteps) steps_.clear();
  steps_.emplace(at, result);
  return result;
}

const std::vector<StateGraph::Number>* StateGraph::legal(Number state) {
  if (kinds() > kMostListedKinds) return nullptr;
  if (!listed_[state]) {
    std::vector<Number> kinds_here;
    for (Number kind = 0; kind < kinds(); ++kind) {
      State next = *states_[state];
      if (model_.step(next, operations_[example_[kind]])) kinds_here.push_back(kind);
    }
    bytes_ += kinds_here.size() * sizeof(Number);
    legal_[state] = std::move(kinds_here);
    listed_[state] = true;
  }
  return &legal_[state];
}

}  // namespace holdfast::checker
