#include "checker/linearizability/depth_search.h"

#include <algorithm>

#include "checker/invariant.h"
#include "checker/linearizability/forced.h"
#include "checker/linearizability/growing.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

using Word = std::uint64_t;

Word hash_of(const std::vector<Word>& words, Word hash) {
  for (const Word word : words) {
    hash ^= word;
    hash *= 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

// So many of equal `known` are compared: beyond, a better one may be missed, which costs time only.
constexpr int kCompared = 16;

}  // namespace

// --- VisitedConfigurations -------------------------------------------------------------------------------

bool VisitedConfigurations::same_known(const Entry& entry, const std::vector<Word>& known) const {
  return entry.known == known.size() && std::equal(known.begin(), known.end(), at(entry.begin));
}

bool VisitedConfigurations::add(const std::vector<Word>& known, const std::vector<Word>& unknown) {
  const Word first = hash_of(known, 0x9E3779B97F4A7C15ULL), both = hash_of(unknown, first);
  for (std::uint32_t i = buckets_[both & (buckets_.size() - 1)]; i != kNone; i = entries_[i].next) {
    const Entry& entry = entries_[i];
    if (entry.hash != both || entry.unknown != unknown.size() || !same_known(entry, known)) continue;
    if (std::equal(unknown.begin(), unknown.end(), at(entry.begin + entry.known))) return false;
  }
  std::uint32_t& newest = newest_[first & (newest_.size() - 1)];
  int compared = 0;
  for (std::uint32_t i = newest; i != kNone && compared < kCompared; i = entries_[i].before, ++compared) {
    const Entry& entry = entries_[i];
    if (entry.unknown > unknown.size() || !same_known(entry, known)) continue;
    const auto used = at(entry.begin + entry.known);
    bool fewer = true;
    for (std::size_t w = 0; w < entry.unknown; ++w)
      fewer = fewer && (used[static_cast<std::ptrdiff_t>(w)] & ~unknown[w]) == 0;
    if (fewer) return false;
  }
  CHECKER_INVARIANT(entries_.size() < kNone, "configurations are numbered by 32 bits");
  std::uint32_t& bucket = buckets_[both & (buckets_.size() - 1)];
  const auto number = static_cast<std::uint32_t>(entries_.size());
  entries_.push_back({both, words_.size(), static_cast<std::uint32_t>(known.size()),
                      static_cast<std::uint32_t>(unknown.size()), bucket, newest});
  words_.insert(words_.end(), known.begin(), known.end());
  words_.insert(words_.end(), unknown.begin(), unknown.end());
  bucket = newest = number;
  if (entries_.size() > buckets_.size()) grow();
  return true;
}

// The chains of equal `known` begin anew: what they forget is found by its own hash all the same.
void VisitedConfigurations::grow() {
  buckets_.assign(buckets_.size() * 4, kNone);
  newest_.assign(buckets_.size(), kNone);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    std::uint32_t& bucket = buckets_[entries_[i].hash & (buckets_.size() - 1)];
    entries_[i].next = bucket;
    entries_[i].before = kNone;
    bucket = i;
  }
}

std::uint64_t VisitedConfigurations::bytes() const {
  constexpr std::size_t kMore = 4096;  // words; one configuration has fewer, or few times as many
  const std::uint64_t tables = buckets_.size() <= entries_.size() + 1 ? 5 : 1;
  return bytes_while_growing(words_, kMore) + bytes_while_growing(entries_, 1) +
         (buckets_.capacity() + newest_.capacity()) * sizeof(std::uint32_t) * tables;
}

// --- DepthSearch -----------------------------------------------------------------------------------------

DepthSearch::DepthSearch(const std::vector<Operation>& operations, const Model& model, std::uint64_t bytes)
    : operations_(operations),
      most_bytes_(bytes),
      graph_(model, operations),
      endpoints_(endpoints_of(operations)),
      next_(endpoints_.size() + 1),
      previous_entry_(endpoints_.size() + 1),
      call_of_(operations.size(), kNowhere),
      return_of_(operations.size(), kNowhere),
      order_(process_order(operations)),
      forced_(forced_operations(operations, model)),
      urgency_(operations.size()),
      happened_(operations.size(), false),
      number_(operations.size(), 0),
      met_(graph_.kinds()) {
  const std::size_t head = endpoints_.size();
  for (std::size_t i = 0; i <= head; ++i) {
    next_[i] = i == head ? 0 : i + 1;
    previous_entry_[i] = i == 0 ? head : i - 1;
  }
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    (endpoints_[i].returns ? return_of_ : call_of_)[endpoints_[i].operation] = i;
  }
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < operations.size(); ++i)
    number_[i] = operations[i].unknown ? unknown++ : known_++;
  left_ = known_;
  std::vector<std::int64_t> next_return;  // by process: of the operation after this one
  for (std::size_t i = operations.size(); i-- > 0;) {
    const Operation& each = operations[i];
    if (next_return.size() <= each.process) next_return.resize(each.process + 1, kForever);
    urgency_[i] = each.f == Function::queue && !each.unknown ? next_return[each.process] : each.ret;
    next_return[each.process] = each.ret;
  }
  known_bits_.assign(known_ / 64 + 1, 0);
  unknown_bits_.assign(unknown / 64 + 1, 0);
  enter(graph_.initial(), kNoState, kNowhere);
}

std::optional<SearchResult> DepthSearch::advance(std::uint64_t steps) {
  const std::uint64_t until = result_.steps + steps;
  while (!done_ && result_.steps < until) {
    if (frames_.empty()) {
      result_.outcome = SearchOutcome::not_linearizable;
      result_.stuck = endpoints_[furthest_].operation;
      done_ = true;
      break;
    }
    Frame& frame = frames_.back();
    if (frame.choices == choices_.size()) {
      leave();
      continue;
    }
    const std::size_t operation = choose();
    const Number next = graph_.step(frame.state, graph_.kind(operation));
    if (next == StateGraph::kIllegal) continue;
    // What is forced is never left out.
    const bool chosen = operations_[operation].unknown && !forced_[operation];
    const Number without = chosen ? frame.state : kNoState;
    lift(operation);
    enter(next, without, operation);
    if (!done_ && visited_.bytes() + graph_.bytes() + bytes_while_growing(frames_, 1) +
                          bytes_while_growing(choices_, found_.capacity() + found_unknown_.capacity()) >
                      most_bytes_) {
      result_.outcome = SearchOutcome::out_of_budget;
      result_.spent = "memory";
      done_ = true;
    }
  }
  return done_ ? std::optional(result_) : std::nullopt;
}

void DepthSearch::enter(Number state, Number without, std::size_t by) {
  ++result_.steps;
  frames_.push_back({state, without, choices_.size(), choices_.size(), by});
  result_.widest = std::max<std::uint64_t>(result_.widest, frames_.size());
  if (left_ == 0) {
    done_ = true;
    return;
  }
  if (remember(state)) gather(state, without);
}

void DepthSearch::leave() {
  const std::size_t by = frames_.back().by;
  frames_.pop_back();
  if (by != kNowhere) put_back(by);
}

// False: it was here before.
bool DepthSearch::remember(Number state) {
  const std::size_t first = floor_ / 64;
  std::size_t last = known_bits_.size();
  while (last > first && known_bits_[last - 1] == 0) --last;
  key_.assign({HOLDFAST_PLANTED(depth_forgets_the_state) ? 0 : state, floor_});
  key_.insert(key_.end(), known_bits_.begin() + static_cast<std::ptrdiff_t>(first),
              known_bits_.begin() + static_cast<std::ptrdiff_t>(last));
  std::size_t used = used_ == 0 ? 0 : unknown_bits_.size();
  while (used > 0 && unknown_bits_[used - 1] == 0) --used;
  unknown_key_.assign(unknown_bits_.begin(), unknown_bits_.begin() + static_cast<std::ptrdiff_t>(used));
  return visited_.add(key_, unknown_key_);
}

// What may happen now. Whether one of a known outcome is legal is asked when its turn comes: mostly the first
// one is, and the others' never does.
void DepthSearch::gather(Number state, Number without) {
  found_.clear();
  found_unknown_.clear();
  ++gathering_;
  const Symbol only = graph_.only_owner(state);
  std::size_t entry = next_[endpoints_.size()];
  for (; entry != endpoints_.size() && !endpoints_[entry].returns; entry = next_[entry]) {
    const std::size_t operation = endpoints_[entry].operation;
    if (only != 0 && operations_[operation].owner != only) continue;
    if (!available(operation)) continue;
    const bool unknown = operations_[operation].unknown;
    if (unknown || forced_[operation] || without != kNoState) {
      const Number next = graph_.step(state, graph_.kind(operation));
      if (next == StateGraph::kIllegal || (unknown && next == state)) continue;
      if (forced_[operation]) {
        choices_.push_back(operation);
        return;
      }
      if (is_useless(without, operation, next)) continue;
    }
    if (unknown) {
      found_unknown_.push_back(operation);
    } else {
      keep(operation);
    }
  }
  if (entry != endpoints_.size() && entry > furthest_) {
    for (; furthest_ < entry; ++furthest_) result_.settled += endpoints_[furthest_].returns ? 1 : 0;
  }
  keep_unknown();
  frames_.back().known = choices_.size();
  choices_.insert(choices_.end(), found_.begin(), found_.end());
}

// Of equals the most urgent one goes first, and the others wait.
void DepthSearch::keep(std::size_t operation) {
  if (!order_.awaited[operation]) {
    Met& met = met_[graph_.kind(operation)];
    if (met.gathering == gathering_) {
      std::size_t& equal = found_[met.at];
      if (urgency_[operation] < urgency_[equal]) equal = operation;
      return;
    }
    met = {gathering_, found_.size()};
  }
  found_.push_back(operation);
}

// Those of unknown outcome, the first call last: each kind once, and none whose equal of a known outcome goes
// first.
void DepthSearch::keep_unknown() {
  const std::size_t begin = choices_.size();
  for (const std::size_t operation : found_unknown_) {
    if (!order_.awaited[operation]) {
      Met& met = met_[graph_.kind(operation)];
      if (met.gathering == gathering_) continue;
      met.gathering = gathering_;
    }
    choices_.push_back(operation);
  }
  std::reverse(choices_.begin() + static_cast<std::ptrdiff_t>(begin), choices_.end());
}

// Takes the most urgent one of a known outcome, else one of an unknown one in the order of their calls.
std::size_t DepthSearch::choose() {
  auto best = choices_.end() - 1;
  const auto known = choices_.begin() + static_cast<std::ptrdiff_t>(frames_.back().known);
  for (auto each = choices_.end(); each > known;) {
    --each;
    if (urgency_[*each] <= urgency_[*best]) best = each;
  }
  const std::size_t operation = *best;
  choices_.erase(best);
  return operation;
}

bool DepthSearch::available(std::size_t operation) const {
  const std::size_t before = order_.previous[operation];
  return before == kNowhere || happened_[before];
}

// `operation` leads to `next`. The last one was of unknown outcome, and `without` is the state before it.
bool DepthSearch::is_useless(Number without, std::size_t operation, Number next) {
  if (without == kNoState) return false;
  const Number first = graph_.step(without, graph_.kind(operation));
  if (first == next) return true;
  const std::size_t last = frames_.back().by;
  if (first == StateGraph::kIllegal || (operations_[operation].unknown && operation > last)) return false;
  return graph_.step(first, graph_.kind(last)) == next;
}

void DepthSearch::unlink(std::size_t entry) {
  next_[previous_entry_[entry]] = next_[entry];
  previous_entry_[next_[entry]] = previous_entry_[entry];
}

void DepthSearch::link(std::size_t entry) {
  next_[previous_entry_[entry]] = entry;
  previous_entry_[next_[entry]] = entry;
}

void DepthSearch::lift(std::size_t operation) {
  const std::size_t number = number_[operation];
  const Word bit = Word{1} << (number % 64);
  happened_[operation] = true;
  unlink(call_of_[operation]);
  if (operations_[operation].unknown) {
    unknown_bits_[number / 64] |= bit;
    ++used_;
    return;
  }
  unlink(return_of_[operation]);
  known_bits_[number / 64] |= bit;
  --left_;
  while (floor_ < known_ && (known_bits_[floor_ / 64] >> (floor_ % 64) & 1U) != 0) ++floor_;
}

void DepthSearch::put_back(std::size_t operation) {
  const std::size_t number = number_[operation];
  const Word bit = Word{1} << (number % 64);
  happened_[operation] = false;
  if (operations_[operation].unknown) {
    unknown_bits_[number / 64] &= ~bit;
    --used_;
  } else {
    link(return_of_[operation]);
    known_bits_[number / 64] &= ~bit;
    ++left_;
    floor_ = std::min(floor_, number);
  }
  link(call_of_[operation]);
}

}  // namespace holdfast::checker
