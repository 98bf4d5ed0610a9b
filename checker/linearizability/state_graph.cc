#include "checker/linearizability/state_graph.h"

#include <array>
#include <map>

#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr std::size_t kMostListedKinds = 512;  // listing takes a step of the model for each
constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 24;
// Of a state but its numbers: a node, a vector, and rows of vectors that are there twice while they grow.
constexpr std::uint64_t kStateBytes = 320;
constexpr std::uint32_t kUnasked = 0xFFFFFFFEU;
constexpr std::size_t kLeastSteps = 1024, kMostSteps = std::size_t{1} << 16;  // sizes of the cache

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
         (each.shared && !HOLDFAST_PLANTED(kinds_without_mode) ? 1 : 0) | (each.whole ? 2 : 0), each.permits,
         each.value.bits(), HOLDFAST_PLANTED(kinds_without_token) ? 0 : each.token.bits()},
        static_cast<Number>(example_.size()));
    if (fresh) {
      if (owners) of_owner_[each.owner].push_back(static_cast<Number>(example_.size()));
      example_.push_back(i);
    }
    kinds_.push_back(at->second);
  }
  number(model.initial());
}

StateGraph::Number StateGraph::number(const State& state) {
  CHECKER_INVARIANT(states_.size() < kUnasked, "states are numbered below the two marks");
  const auto [at, fresh] = numbers_.try_emplace(state, static_cast<Number>(states_.size()));
  if (fresh) {
    states_.push_back(&at->first);
    only_.push_back(model_.owners() ? model_.only_owner(at->first) : 0);
    legal_.emplace_back();
    rows_.emplace_back();
    listed_.push_back(false);
    bytes_ += kStateBytes + at->first.size() * sizeof(std::int64_t);
  }
  return at->second;
}

StateGraph::Number StateGraph::step(Number state, Number kind) {
  if (Number* row = row_of(state); row != nullptr) {
    if (row[kind] != kUnasked) return row[kind];
    const Number next = compute(state, kind);  // may move rows_; the numbers of a row stay where they are
    return row[kind] = next;
  }
  if (steps_.empty()) {
    std::size_t steps = kLeastSteps;
    while (steps < kMostSteps && steps < kinds() * 4) steps *= 2;
    steps_.resize(steps);
    bytes_ += steps * sizeof(Step);
  }
  const std::uint64_t both = (std::uint64_t{state} << 32) | kind;
  Step& known = steps_[(state * std::size_t{0x9E3779B1} + kind) & (steps_.size() - 1)];
  if (known.both == both) return known.next;
  const Number next = compute(state, kind);
  known = {both, next};
  return next;
}

StateGraph::Number StateGraph::compute(Number state, Number kind) {
  scratch_ = *states_[state];
  return model_.step(scratch_, operations_[example_[kind]]) ? number(scratch_) : kIllegal;
}

// The steps of one state by kind; nullptr: there is no room for them.
StateGraph::Number* StateGraph::row_of(Number state) {
  if (only_[state] != 0) return nullptr;  // few kinds are legal here: the cache is enough
  std::vector<Number>& row = rows_[state];
  if (!row.empty()) return row.data();
  const std::uint64_t bytes = kinds() * sizeof(Number);
  if (rows_bytes_ + bytes > kMostRowBytes) return nullptr;
  row.assign(kinds(), kUnasked);
  rows_bytes_ += bytes;
  bytes_ += bytes;
  return row.data();
}

const std::vector<StateGraph::Number>* StateGraph::legal(Number state) {
  if (only_[state] == 0 && kinds() > kMostListedKinds) return nullptr;
  if (!listed_[state]) {
    std::vector<Number> kinds_here;
    const auto look_at = [&](Number kind) {
      scratch_ = *states_[state];
      if (model_.step(scratch_, operations_[example_[kind]])) kinds_here.push_back(kind);
    };
    if (only_[state] != 0) {
      for (const Number kind : of_owner_[only_[state]]) look_at(kind);
    } else {
      for (Number kind = 0; kind < kinds(); ++kind) look_at(kind);
    }
    bytes_ += kinds_here.size() * sizeof(Number);
    legal_[state] = std::move(kinds_here);
    listed_[state] = true;
  }
  return &legal_[state];
}

}  // namespace holdfast::checker
