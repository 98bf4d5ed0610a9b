#include "checker/linearizability/state_graph.h"

#include <algorithm>
#include <array>

#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr std::size_t kMostListedKinds = 512;  // listing takes a step of the model for each
constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 24;
// Of a state but its numbers: what is known about it, and its place, both twice and more while they grow.
constexpr std::uint64_t kStateBytes = 2 * 104 + 6 * sizeof(std::uint32_t);
constexpr std::uint32_t kUnasked = 0xFFFFFFFEU;
constexpr std::size_t kLeastSteps = 256, kMostSteps = std::size_t{1} << 16;  // sizes of the cache

constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15ULL;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xD6E8FEB86659FD93ULL;
  return hash ^ (hash >> 32);
}

}  // namespace

StateGraph::StateGraph(const Model& model, const std::vector<Operation>& operations)
    : model_(model), operations_(operations) {
  std::size_t size = 16;
  while (size < 2 * operations.size()) size *= 2;
  std::vector<std::uint32_t> table(size, kIllegal);  // kinds, by the hash of what they have
  kinds_.reserve(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::uint32_t& kind = table[same_kind(i, table)];
    if (kind == kIllegal) {
      kind = static_cast<Number>(example_.size());
      example_.push_back(i);
    }
    kinds_.push_back(kind);
  }
  number(model.initial());
}

// The place in `table` of the kind of `operation`, or where it belongs.
std::size_t StateGraph::same_kind(std::size_t operation, std::vector<std::uint32_t>& table) const {
  const bool owners = model_.owners();
  const auto parts = [owners](const Operation& each) {
    return std::array<std::uint64_t, 4>{
        (std::uint64_t{owners ? each.owner : 0} << 32) | (owners ? each.process : 0),
        (std::uint64_t{each.permits} << 16) | (static_cast<std::uint64_t>(each.f) << 2) |
            (each.shared && !HOLDFAST_PLANTED(kinds_without_mode) ? 1U : 0U) | (each.whole ? 2U : 0U),
        static_cast<std::uint64_t>(each.value.bits()),
        HOLDFAST_PLANTED(kinds_without_token) ? 0 : static_cast<std::uint64_t>(each.token.bits())};
  };
  const auto mine = parts(operations_[operation]);
  std::uint64_t hash = kSeed;
  for (const std::uint64_t part : mine) hash = mixed(hash, part);
  std::size_t at = hash & (table.size() - 1);
  while (table[at] != kIllegal && parts(operations_[example_[table[at]]]) != mine)
    at = (at + 1) & (table.size() - 1);
  return at;
}

// The place in table_ of a state, or where it belongs.
std::size_t StateGraph::place_of(const State& state) const {
  std::uint64_t hash = kSeed;
  for (const std::int64_t part : state) hash = mixed(hash, static_cast<std::uint64_t>(part));
  std::size_t at = hash & (table_.size() - 1);
  const auto is_there = [&](const About& about) {
    return about.size == state.size() &&
           std::equal(state.begin(), state.end(), pool_.begin() + static_cast<std::ptrdiff_t>(about.begin));
  };
  while (table_[at] != kIllegal && !is_there(states_[table_[at]])) at = (at + 1) & (table_.size() - 1);
  return at;
}

void StateGraph::load(const About& about) {
  const auto begin = pool_.begin() + static_cast<std::ptrdiff_t>(about.begin);
  scratch_.assign(begin, begin + about.size);
}

StateGraph::Number StateGraph::number(const State& state) {
  if (2 * states_.size() >= table_.size()) {
    table_.assign(std::max<std::size_t>(64, 4 * table_.size()), kIllegal);
    State each;
    for (Number i = 0; i < states_.size(); ++i) {
      const auto begin = pool_.begin() + static_cast<std::ptrdiff_t>(states_[i].begin);
      each.assign(begin, begin + states_[i].size);
      table_[place_of(each)] = i;
    }
  }
  std::uint32_t& place = table_[place_of(state)];
  if (place != kIllegal) return place;
  CHECKER_INVARIANT(states_.size() < kUnasked, "states are numbered below the two marks");
  place = static_cast<Number>(states_.size());
  About& about = states_.emplace_back();
  about.begin = pool_.size();
  about.size = static_cast<std::uint32_t>(state.size());
  about.only = model_.owners() ? model_.only_owner(state) : 0;
  pool_.insert(pool_.end(), state.begin(), state.end());
  bytes_ += kStateBytes + state.size() * 2 * sizeof(std::int64_t);
  return place;
}

StateGraph::Number StateGraph::step(Number state, Number kind) {
  if (Number* row = row_of(states_[state]); row != nullptr) {
    if (row[kind] != kUnasked) return row[kind];
    const Number next = compute(state, kind);  // may move states_; the numbers of a row stay where they are
    return row[kind] = next;
  }
  if (steps_.empty()) {
    std::size_t steps = kLeastSteps;
    while (steps < kMostSteps && steps < kinds()) steps *= 2;
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
  load(states_[state]);
  return model_.step(scratch_, operations_[example_[kind]]) ? number(scratch_) : kIllegal;
}

// The steps of one state by kind; nullptr: they are not worth their room, or there is none.
StateGraph::Number* StateGraph::row_of(About& about) {
  if (!about.row.empty()) return about.row.data();
  if (about.only != 0) return nullptr;  // few kinds are legal here: the cache is enough
  if (++about.asked <= kinds() / 4) return nullptr;
  const std::uint64_t bytes = kinds() * sizeof(Number);
  if (rows_bytes_ + bytes > kMostRowBytes) return nullptr;
  about.row.assign(kinds(), kUnasked);
  rows_bytes_ += bytes;
  bytes_ += bytes;
  return about.row.data();
}

const std::vector<StateGraph::Number>* StateGraph::legal(Number state) {
  About& about = states_[state];
  if (about.only == 0 && kinds() > kMostListedKinds) return nullptr;
  if (!about.listed && about.only == 0 && ++about.wanted <= kinds() / 8) return nullptr;
  if (!about.listed) {
    const auto look_at = [&](Number kind) {
      load(about);
      if (model_.step(scratch_, operations_[example_[kind]])) about.legal.push_back(kind);
    };
    if (about.only == 0) {
      for (Number kind = 0; kind < kinds(); ++kind) look_at(kind);
    } else {
      if (of_owner_.empty()) {
        for (Number kind = 0; kind < kinds(); ++kind)
          of_owner_[operations_[example_[kind]].owner].push_back(kind);
      }
      for (const Number kind : of_owner_[about.only]) look_at(kind);
    }
    bytes_ += about.legal.size() * sizeof(Number);
    about.listed = true;
  }
  return &about.legal;
}

}  // namespace holdfast::checker
