#include "checker/linearizability/breadth_search.h"

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
      ++compared_;
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
  std::uint64_t compared() const { return compared_; }  // configurations with another one, by add()
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
  std::uint64_t compared_ = 0;
  std::vector<Word> words_;
  std::vector<std::uint32_t> heads_ = std::vector<std::uint32_t>(256, kNone), next_;
  std::vector<bool> dead_;
};

}  // namespace

class BreadthSearch::State {
 public:
  State(const std::vector<Operation>& operations, const Model& model, std::uint64_t bytes)
      : operations_(operations),
        most_bytes_(bytes),
        graph_(model, operations),
        endpoints_(endpoints_of(operations)),
        order_(process_order(operations)),
        pending_(graph_.kinds()) {
    place_.assign(operations_.size(), kNowhere);
    const Word begin[1] = {graph_.initial()};
    frontier_.add(begin);
  }

  std::optional<SearchResult> advance(std::uint64_t steps) {
    until_ = work() + steps;
    for (; at_ < endpoints_.size(); ++at_) {
      const std::size_t operation = endpoints_[at_].operation;
      if (!endpoints_[at_].returns) {
        call(operation);
        continue;
      }
      if (!returning_) begin_return(operation);
      if (!extend_all(operation)) {
        if (result_.outcome == SearchOutcome::out_of_budget) return result_;
        return std::nullopt;
      }
      end_return(operation);
      if (frontier_.size() == 0) {
        result_.outcome = SearchOutcome::not_linearizable;
        result_.stuck = operation;
        return result_;
      }
    }
    return result_;
  }

 private:
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
  void begin_return(std::size_t operation) {
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
    returning_ = true;
    looked_at_ = 0;
  }

  std::uint64_t work() const {
    return result_.steps + (frontier_.compared() + visited_.compared() + results_.compared()) / 8;
  }

  // False: no more steps for now, or no more memory.
  bool extend_all(std::size_t operation) {
    const std::size_t word = word_of(operation);
    const Word bit = bit_of(operation);
    std::vector<Word> config;
    for (; looked_at_ < visited_.size(); ++looked_at_) {  // the set grows meanwhile
      if (visited_.dead(looked_at_)) continue;
      if (work() >= until_) return false;
      ++result_.steps;
      if (visited_.bytes() + results_.bytes() + frontier_.bytes() + graph_.bytes() > most_bytes_) {
        result_.outcome = SearchOutcome::out_of_budget;
        result_.spent = "memory";
        return false;
      }
      config.assign(visited_.at(looked_at_), visited_.at(looked_at_) + visited_.stride());
      extend(config, operation, word, bit);
    }
    return true;
  }

  void end_return(std::size_t operation) {
    returning_ = false;
    forget(operation);
    frontier_.swap(results_);
    result_.widest = std::max<std::uint64_t>(result_.widest, frontier_.size());
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
    const std::size_t before = order_.previous[operation];
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
      if ((chosen && !order_.awaited[operation]) || happened(config.data(), operation)) continue;
      if (!available(config.data(), operation)) continue;
      chosen = chosen || !order_.awaited[operation];
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
  const std::uint64_t most_bytes_;
  StateGraph graph_;
  const std::vector<Endpoint> endpoints_;
  const ProcessOrder order_;
  std::size_t at_ = 0, looked_at_ = 0;  // into endpoints_; at a return, into visited_
  bool returning_ = false;
  std::uint64_t until_ = 0;
  std::vector<std::size_t> place_;                 // by operation; kNowhere: not pending
  std::vector<std::size_t> free_;                  // places that operations with a known outcome have left
  std::vector<std::vector<std::size_t>> pending_;  // by kind
  std::vector<Number> pending_kinds_;
  std::size_t known_places_ = 0, unknown_places_ = 0;
  Configurations frontier_, visited_, results_;
  SearchResult result_;
};

BreadthSearch::BreadthSearch(const std::vector<Operation>& operations, const Model& model,
                             std::uint64_t bytes)
    : state_(std::make_unique<State>(operations, model, bytes)) {}
BreadthSearch::~BreadthSearch() = default;
std::optional<SearchResult> BreadthSearch::advance(std::uint64_t steps) { return state_->advance(steps); }

}  // namespace holdfast::checker
