#include "checker/linearizability/search.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checker/invariant.h"
#include "checker/linearizability/state_graph.h"

namespace holdfast::checker {

namespace {

using Word = std::uint64_t;
using Number = StateGraph::Number;

// A set of configurations, each [state, words for pending operations with a known outcome, words for those
// with an unknown one]. Has none twice, and none that has used more operations of unknown outcome than
// another one and is equal otherwise.
class Configurations {
 public:
  void layout(std::size_t known_words, std::size_t unknown_words) {
    if (known_words == known_ && unknown_words == unknown_) return;
    std::vector<Word> moved;
    const std::size_t stride = 1 + known_words + unknown_words;
    for (std::size_t i = 0; i < size(); ++i) {
      const Word* from = at(i);
      moved.push_back(from[0]);
      for (std::size_t w = 0; w < known_words; ++w) moved.push_back(w < known_ ? from[1 + w] : 0);
      for (std::size_t w = 0; w < unknown_words; ++w)
        moved.push_back(w < unknown_ ? from[1 + known_ + w] : 0);
    }
    const std::size_t count = size();
    words_ = std::move(moved);
    known_ = known_words;
    unknown_ = unknown_words;
    stride_ = stride;
    CHECKER_INVARIANT(words_.size() == count * stride_, "a new layout keeps every configuration");
    rehash();
  }
  void clear() {
    words_.clear();
    next_.clear();
    dead_.clear();
    if (heads_.size() > 4096 && used_ * 16 < heads_.size()) heads_.assign(256, kNone);
    std::fill(heads_.begin(), heads_.end(), kNone);
    used_ = 0;
  }
  std::size_t size() const { return next_.size(); }
  bool dead(std::size_t i) const { return dead_[i]; }
  const Word* at(std::size_t i) const { return words_.data() + i * stride_; }
  std::size_t stride() const { return stride_; }
  std::uint64_t bytes() const {
    return words_.capacity() * sizeof(Word) + heads_.capacity() * 4 + next_.capacity() * 5;
  }

  // False: the set has it already, or a better one. REQUIRES: `config` does not point into the set.
  bool add(const Word* config) {
    const std::size_t bucket = hash(config) & (heads_.size() - 1);
    for (std::uint32_t i = heads_[bucket]; i != kNone; i = next_[i]) {
      if (dead_[i] || std::memcmp(at(i), config, (1 + known_) * sizeof(Word)) != 0) continue;
      bool here_less = true, there_less = true;  // its unknown operations are a subset of the other's
      const Word* mine = at(i) + 1 + known_;
      const Word* other = config + 1 + known_;
      for (std::size_t w = 0; w < unknown_; ++w) {
        here_less = here_less && (mine[w] & ~other[w]) == 0;
        there_less = there_less && (other[w] & ~mine[w]) == 0;
      }
      if (here_less) return false;
      if (there_less) dead_[i] = true;
    }
    words_.insert(words_.end(), config, config + stride_);
    next_.push_back(heads_[bucket]);
    dead_.push_back(false);
    heads_[bucket] = static_cast<std::uint32_t>(next_.size() - 1);
    if (++used_ > heads_.size()) rehash();
    return true;
  }
  void swap(Configurations& other) noexcept { std::swap(*this, other); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  std::size_t hash(const Word* config) const {
    Word value = 0x9E3779B97F4A7C15ULL;
    for (std::size_t w = 0; w <= known_; ++w) {
      value ^= config[w];
      value *= 0xD6E8FEB86659FD93ULL;
      value ^= value >> 29;
    }
    return static_cast<std::size_t>(value ^ (value >> 32));
  }
  void rehash() {
    std::size_t wanted = 256;
    while (wanted < size() * 2) wanted *= 2;
    heads_.assign(wanted, kNone);
    next_.resize(words_.size() / stride_);
    dead_.resize(next_.size());
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const std::size_t bucket = hash(at(i)) & (wanted - 1);
      next_[i] = heads_[bucket];
      heads_[bucket] = static_cast<std::uint32_t>(i);
    }
    used_ = next_.size();
  }

  std::size_t known_ = 0, unknown_ = 0, stride_ = 1, used_ = 0;
  std::vector<Word> words_;
  std::vector<std::uint32_t> heads_ = std::vector<std::uint32_t>(256, kNone), next_;
  std::vector<bool> dead_;
};

class Search {
 public:
  Search(const std::vector<Operation>& operations, const Model& model, const SearchBudget& budget)
      : operations_(operations), budget_(budget), graph_(model, operations), pending_(graph_.kinds()) {}

  SearchResult run() {
    order_processes();
    place_.assign(operations_.size(), kNowhere);
    const Word begin[1] = {graph_.initial()};
    frontier_.add(begin);
    for (const Endpoint& endpoint : endpoints_of(operations_)) {
      if (!endpoint.returns) {
        call(endpoint.operation);
        continue;
      }
      if (!give_back(endpoint.operation)) {
        if (result_.outcome == SearchOutcome::linearizable) {
          result_.outcome = SearchOutcome::not_linearizable;
          result_.stuck = endpoint.operation;
        }
        break;
      }
    }
    return result_;
  }

 private:
  void order_processes() {
    previous_.assign(operations_.size(), kNowhere);
    awaited_.assign(operations_.size(), false);
    Symbol most = 0;
    for (const Operation& each : operations_) most = std::max(most, each.process);
    std::vector<std::size_t> last(std::size_t{most} + 1, kNowhere);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const std::size_t before = last[operations_[i].process];
      if (before != kNowhere && operations_[before].ret == operations_[i].call) awaited_[before] = true;
      previous_[i] = before;
      if (!operations_[i].unknown) last[operations_[i].process] = i;
    }
  }

  // --- places: a bit for each pending operation
  void call(std::size_t operation) {
    const Operation& each = operations_[operation];
    if (each.unknown) {
      place_[operation] = unknown_places_++;
    } else if (!free_.empty()) {
      place_[operation] = free_.back();
      free_.pop_back();
    } else {
      place_[operation] = known_places_++;
    }
    frontier_.layout(words(known_places_), words(unknown_places_));
    std::vector<std::size_t>& same = pending_[graph_.kind(operation)];
    const auto after =
        std::upper_bound(same.begin(), same.end(), operation, [&](std::size_t a, std::size_t b) {
          return operations_[a].ret < operations_[b].ret;  // unknown ones last, by call
        });
    same.insert(after, operation);
    if (same.size() == 1) pending_kinds_.push_back(graph_.kind(operation));
  }
  static std::size_t words(std::size_t places) { return (places + 63) / 64; }
  std::size_t word_of(std::size_t operation) const {
    const std::size_t base = 1 + (operations_[operation].unknown ? words(known_places_) : 0);
    return base + place_[operation] / 64;
  }
  Word bit_of(std::size_t operation) const { return Word{1} << (place_[operation] % 64); }
  bool happened(const Word* config, std::size_t operation) const {
    return (config[word_of(operation)] & bit_of(operation)) != 0;
  }

  // --- a return
  bool give_back(std::size_t operation) {
    CHECKER_INVARIANT(place_[operation] != kNowhere, "an operation is called before it returns");
    results_.clear();
    visited_.clear();
    results_.layout(words(known_places_), words(unknown_places_));
    visited_.layout(words(known_places_), words(unknown_places_));
    const std::size_t word = word_of(operation);
    const Word bit = bit_of(operation);
    std::vector<Word> config(frontier_.stride());
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      if (frontier_.dead(i)) continue;
      config.assign(frontier_.at(i), frontier_.at(i) + frontier_.stride());
      if ((config[word] & bit) != 0) {
        config[word] &= ~bit;
        results_.add(config.data());
      } else {
        visited_.add(config.data());
      }
    }
    for (std::size_t i = 0; i < visited_.size(); ++i) {  // the set grows meanwhile
      if (visited_.dead(i)) continue;
      if (!spend()) return false;
      config.assign(visited_.at(i), visited_.at(i) + visited_.stride());
      extend(config, operation, word, bit);
    }
    forget(operation);
    frontier_.swap(results_);
    result_.widest = std::max<std::uint64_t>(result_.widest, frontier_.size());
    return frontier_.size() > 0;
  }

  bool spend() {
    const char* spent = nullptr;
    if (++result_.steps > budget_.steps) spent = "steps";
    if (visited_.bytes() + results_.bytes() + frontier_.bytes() + graph_.bytes() > budget_.bytes)
      spent = "memory";
    if (spent == nullptr) return true;
    result_.outcome = SearchOutcome::out_of_budget;
    result_.spent = spent;
    return false;
  }

  void extend(std::vector<Word>& config, std::size_t wanted, std::size_t word, Word bit) {
    const auto state = static_cast<Number>(config[0]);
    if (available(config.data(), wanted)) {
      if (const Number next = graph_.step(state, graph_.kind(wanted)); next != StateGraph::kIllegal) {
        const Word before = config[word];
        config[0] = next;
        config[word] = before & ~bit;
        results_.add(config.data());
        config[0] = state;
        config[word] = before;
      }
    }
    const std::vector<Number>* legal = graph_.legal(state);
    const bool listed = legal != nullptr && legal->size() < pending_kinds_.size();
    for (const Number kind : listed ? *legal : pending_kinds_) {
      if (!pending_[kind].empty()) try_kind(config, state, kind, wanted);
    }
  }

  bool available(const Word* config, std::size_t operation) const {
    const std::size_t before = previous_[operation];
    return before == kNowhere || place_[before] == kNowhere || happened(config, before);
  }

  // True: no legal operation is pending, so the operation that returns cannot happen any more.
  bool is_dead_end(Number state) {
    const std::vector<Number>* legal = graph_.legal(state);
    if (legal == nullptr || legal->size() > kFew) return false;
    return std::all_of(legal->begin(), legal->end(), [&](Number kind) { return pending_[kind].empty(); });
  }
  static constexpr std::size_t kFew = 4;

  // Extends by the first pending operation of the kind that has not happened, and by those whose process has
  // already invoked its next one.
  void try_kind(std::vector<Word>& config, Number state, Number kind, std::size_t wanted) {
    const Number next = graph_.step(state, kind);
    if (next == StateGraph::kIllegal || is_dead_end(next)) return;
    bool chosen = false;
    for (const std::size_t operation : pending_[kind]) {
      if ((chosen && !awaited_[operation]) || happened(config.data(), operation)) continue;
      if (!available(config.data(), operation)) continue;
      chosen = chosen || !awaited_[operation];
      if (operation == wanted) continue;  // extend() has tried it
      const std::size_t word = word_of(operation);
      config[0] = next;
      config[word] |= bit_of(operation);
      visited_.add(config.data());
      config[0] = state;
      config[word] &= ~bit_of(operation);
    }
  }

  void forget(std::size_t operation) {
    std::vector<std::size_t>& same = pending_[graph_.kind(operation)];
    const auto mine = std::find(same.begin(), same.end(), operation);
    CHECKER_INVARIANT(mine != same.end(), "an operation that returns was pending");
    same.erase(mine);
    if (same.empty()) {
      pending_kinds_.erase(std::find(pending_kinds_.begin(), pending_kinds_.end(), graph_.kind(operation)));
    }
    free_.push_back(place_[operation]);
    place_[operation] = kNowhere;
  }

  const std::vector<Operation>& operations_;
  const SearchBudget budget_;
  StateGraph graph_;
  std::vector<std::size_t>
      previous_;               // by operation: the one before it of the same process, with a known outcome
  std::vector<bool> awaited_;  // by operation: its process invokes the next one at the time of its return
  std::vector<std::size_t> place_;                 // by operation; kNowhere: not pending
  std::vector<std::size_t> free_;                  // places that operations with a known outcome have left
  std::vector<std::vector<std::size_t>> pending_;  // by kind
  std::vector<Number> pending_kinds_;
  std::size_t known_places_ = 0, unknown_places_ = 0;
  Configurations frontier_, visited_, results_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const std::vector<Operation>& operations, const Model& model,
                    const SearchBudget& budget) {
  return Search(operations, model, budget).run();
}

}  // namespace holdfast::checker
