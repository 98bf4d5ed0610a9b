#include "checker/linearizability/breadth_search.h"

#include <algorithm>

#include "checker/invariant.h"
#include "checker/linearizability/configurations.h"
#include "checker/linearizability/forced.h"
#include "checker/linearizability/state_graph.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

using Word = Configurations::Word;
using Number = StateGraph::Number;

// What of a pending operation a configuration says, and by which bits.
enum class Sort : std::uint8_t {
  plain,      // equal bit: it has happened
  unknown,    // fewer bit: it has happened
  observer,   // fewer bit: it has not happened
  overwriter  // first fewer bit: it must still happen. Second: it has happened and was seen. Neither: it may
              // have been overwritten at once, or may still be seen
};

}  // namespace

class BreadthSearch::State {
 public:
  State(const std::vector<Operation>& operations, const Model& model, std::uint64_t bytes)
      : operations_(operations),
        model_(model),
        most_bytes_(bytes),
        graph_(model, operations),
        endpoints_(endpoints_of(operations)),
        order_(process_order(operations)),
        forced_(forced_operations(operations, model)),
        sort_(operations.size(), Sort::plain),
        place_(operations.size(), kNowhere),
        pending_(graph_.kinds()),
        observers_(graph_.kinds()),
        overwrites_(graph_.kinds()) {
    for (std::size_t i = 0; i < operations.size(); ++i)
      overwrites_[graph_.kind(i)] = model.overwrites(operations[i]);
    frontier_.assign(1, graph_.initial());
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
      if (frontier_.empty()) {
        result_.outcome = SearchOutcome::not_linearizable;
        result_.stuck = operation;
        return result_;
      }
      ++result_.settled;
    }
    return result_;
  }
  const SearchResult& result() const { return result_; }

 private:
  // --- bits
  static std::size_t words(std::size_t places) { return (places + 63) / 64; }
  std::size_t stride() const { return 1 + equal_words_ + fewer_words_; }
  // The words of the second sort begin here.
  std::size_t fewer() const { return 1 + equal_words_; }
  static Word bit(std::size_t place) { return Word{1} << (place % 64); }
  bool has(const Word* config, std::size_t operation, std::size_t offset = 0) const {
    const std::size_t place = place_[operation] + offset;
    const std::size_t base = sort_[operation] == Sort::plain ? 1 : fewer();
    return (config[base + place / 64] & bit(place)) != 0;
  }
  void set(Word* config, std::size_t operation, bool to, std::size_t offset = 0) const {
    const std::size_t place = place_[operation] + offset;
    Word& word = config[(sort_[operation] == Sort::plain ? 1 : fewer()) + place / 64];
    word = to ? word | bit(place) : word & ~bit(place);
  }
  // It cannot happen any more.
  bool is_gone(const Word* config, std::size_t operation) const {
    if (sort_[operation] == Sort::overwriter) return has(config, operation, 1);
    return has(config, operation) != (sort_[operation] == Sort::observer);
  }
  // It may return.
  bool is_settled(const Word* config, std::size_t operation) const {
    const bool inverse = sort_[operation] == Sort::observer || sort_[operation] == Sort::overwriter;
    return has(config, operation) != inverse;
  }
  bool available(const Word* config, std::size_t operation) const {
    const std::size_t before = order_.previous[operation];
    return before == kNowhere || place_[before] == kNowhere || is_gone(config, before);
  }

  // --- places
  static std::size_t take_place(std::vector<std::size_t>& free, std::size_t& places, std::size_t count) {
    if (!free.empty()) {
      const std::size_t place = free.back();
      free.pop_back();
      return place;
    }
    // A pair does not cross words.
    places += count - 1 - (places + count - 1) % count;
    const std::size_t place = places;
    places += count;
    return place;
  }
  void relayout() {
    const std::size_t equal = words(equal_places_), fewer_words = words(fewer_places_);
    if (equal == equal_words_ && fewer_words == fewer_words_) return;
    std::vector<Word> moved;
    for (std::size_t at = 0; at < frontier_.size(); at += stride()) {
      moved.push_back(frontier_[at]);
      for (std::size_t w = 0; w < equal; ++w) moved.push_back(w < equal_words_ ? frontier_[at + 1 + w] : 0);
      for (std::size_t w = 0; w < fewer_words; ++w)
        moved.push_back(w < fewer_words_ ? frontier_[at + fewer() + w] : 0);
    }
    frontier_ = std::move(moved);
    equal_words_ = equal;
    fewer_words_ = fewer_words;
    overwriters_.resize(fewer_words, 0);
    for (std::vector<Word>& mask : observers_) {
      if (!mask.empty()) mask.resize(fewer_words, 0);
    }
  }

  void call(std::size_t operation) {
    const Operation& each = operations_[operation];
    const Number kind = graph_.kind(operation);
    const std::size_t before = order_.previous[operation];
    // What is bound to another pending operation is told by a plain bit.
    const bool alone = !order_.awaited[operation] && (before == kNowhere || place_[before] == kNowhere);
    Sort& sort = sort_[operation];
    if (each.unknown) {
      sort = Sort::unknown;
      place_[operation] = take_place(no_free_, fewer_places_, 1);
    } else if (alone && model_.observes(each)) {
      sort = Sort::observer;
      place_[operation] = take_place(free_observers_, fewer_places_, 1);
    } else if (alone && overwrites_[kind]) {
      sort = Sort::overwriter;
      place_[operation] = take_place(free_overwriters_, fewer_places_, 2);
    } else {
      place_[operation] = take_place(free_plain_, equal_places_, 1);
    }
    relayout();
    const std::size_t place = place_[operation];
    if (sort == Sort::observer) {
      if (observers_[kind].empty()) observed_kinds_.push_back(kind);
      observers_[kind].resize(fewer_words_, 0);
      observers_[kind][place / 64] |= bit(place);
    } else if (sort == Sort::overwriter) {
      overwriters_[place / 64] |= bit(place);
    } else if (forced_[operation]) {
      forced_pending_.push_back(operation);
    }
    if (sort != Sort::observer) {
      std::vector<std::size_t>& same = pending_[kind];
      const auto after =
          std::upper_bound(same.begin(), same.end(), operation, [&](std::size_t a, std::size_t b) {
            return operations_[a].ret < operations_[b].ret;  // unknown ones last, by call
          });
      same.insert(after, operation);
      if (same.size() == 1) pending_kinds_.push_back(kind);
    }
    for (std::size_t at = 0; at < frontier_.size(); at += stride()) {
      Word* config = frontier_.data() + at;
      if (sort == Sort::overwriter) {
        set(config, operation, true);
      } else if (sort == Sort::observer) {
        set(config, operation, graph_.step(static_cast<Number>(config[0]), kind) == StateGraph::kIllegal);
      } else if (forced_[operation]) {
        settle(config);
      }
    }
  }

  void forget(std::size_t operation) {
    const Number kind = graph_.kind(operation);
    const std::size_t place = place_[operation];
    if (sort_[operation] == Sort::observer) {
      free_observers_.push_back(place);
      std::vector<Word>& mask = observers_[kind];
      mask[place / 64] &= ~bit(place);
      if (std::all_of(mask.begin(), mask.end(), [](Word word) { return word == 0; })) {
        mask.clear();
        observed_kinds_.erase(std::find(observed_kinds_.begin(), observed_kinds_.end(), kind));
      }
    } else {
      if (sort_[operation] == Sort::overwriter) {
        overwriters_[place / 64] &= ~bit(place);
        free_overwriters_.push_back(place);
      } else {
        free_plain_.push_back(place);
      }
      std::vector<std::size_t>& same = pending_[kind];
      const auto mine = std::find(same.begin(), same.end(), operation);
      CHECKER_INVARIANT(mine != same.end(), "an operation that returns was pending");
      same.erase(mine);
      if (same.empty()) pending_kinds_.erase(std::find(pending_kinds_.begin(), pending_kinds_.end(), kind));
      const auto forced = std::find(forced_pending_.begin(), forced_pending_.end(), operation);
      if (forced != forced_pending_.end()) forced_pending_.erase(forced);
    }
    place_[operation] = kNowhere;
  }

  // --- steps
  void take(Word* config, std::size_t operation, Number next) const {
    config[0] = next;
    if (overwrites_[graph_.kind(operation)]) {
      for (std::size_t w = 0; w < fewer_words_; ++w) config[fewer() + w] &= ~overwriters_[w];
    }
    if (sort_[operation] == Sort::overwriter) {
      set(config, operation, true, 1);
    } else {
      set(config, operation, sort_[operation] != Sort::observer);
    }
  }
  // Takes what is forced.
  void settle(Word* config) {
    for (bool again = true; again;) {
      again = false;
      const auto state = static_cast<Number>(config[0]);
      for (const Number kind : observed_kinds_) {
        if (graph_.step(state, kind) == StateGraph::kIllegal) continue;
        const std::vector<Word>& mask = observers_[kind];
        for (std::size_t w = 0; w < mask.size(); ++w) config[fewer() + w] &= ~mask[w];
      }
      for (const std::size_t operation : forced_pending_) {
        if (is_gone(config, operation) || !available(config, operation)) continue;
        const Number next = graph_.step(state, graph_.kind(operation));
        if (next == StateGraph::kIllegal) continue;
        take(config, operation, next);
        again = true;
        break;
      }
    }
  }

  // --- a return
  void begin_return(std::size_t operation) {
    CHECKER_INVARIANT(place_[operation] != kNowhere, "an operation is called before it returns");
    results_.begin(equal_words_, fewer_words_);
    visited_.begin(equal_words_, fewer_words_);
    for (std::size_t at = 0; at < frontier_.size(); at += stride()) {
      config_.assign(frontier_.begin() + static_cast<std::ptrdiff_t>(at),
                     frontier_.begin() + static_cast<std::ptrdiff_t>(at + stride()));
      keep(operation);
    }
    returning_ = true;
    looked_at_ = 0;
  }

  // Puts config_ to those that the wanted operation can leave, or to those that are to be extended, or to
  // both: a write that was overwritten at once may still be seen instead. `both_before`: so was the one
  // before it.
  void keep(std::size_t wanted, bool both_before = false) {
    if (!is_settled(config_.data(), wanted)) {
      visited_.add(config_.data());
      return;
    }
    if (sort_[wanted] == Sort::overwriter && !has(config_.data(), wanted, 1)) {
      visited_.add(config_.data());
      if (both_before) return;
    }
    if (sort_[wanted] == Sort::overwriter) set(config_.data(), wanted, false, 1);
    if (sort_[wanted] == Sort::plain) set(config_.data(), wanted, false);
    results_.add(config_.data());
  }

  std::uint64_t work() const { return result_.steps + (visited_.compared() + results_.compared()) / 8; }

  // False: no more steps for now, or no more memory.
  bool extend_all(std::size_t wanted) {
    for (; looked_at_ < visited_.size(); ++looked_at_) {  // the set grows meanwhile
      if (visited_.dead(looked_at_)) continue;
      if (work() >= until_) return false;
      ++result_.steps;
      // An operation leads to a configuration for each kind at most, or for each that is awaited.
      const std::size_t more = place_.size() < 256 ? place_.size() : 256;
      if (visited_.bytes(more) + results_.bytes(more) + frontier_.capacity() * sizeof(Word) + graph_.bytes() >
          most_bytes_) {
        result_.outcome = SearchOutcome::out_of_budget;
        result_.spent = "memory";
        return false;
      }
      from_.assign(visited_.at(looked_at_), visited_.at(looked_at_) + visited_.stride());
      extend(wanted);
    }
    return true;
  }

  void end_return(std::size_t operation) {
    returning_ = false;
    forget(operation);
    frontier_.clear();
    std::size_t count = 0;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (results_.dead(i)) continue;
      frontier_.insert(frontier_.end(), results_.at(i), results_.at(i) + results_.stride());
      ++count;
    }
    result_.widest = std::max<std::uint64_t>(result_.widest, count);
  }

  void extend(std::size_t wanted) {
    const auto state = static_cast<Number>(from_[0]);
    const std::vector<Number>* legal = graph_.legal(state);
    const bool listed = legal != nullptr && legal->size() < pending_kinds_.size();
    for (const Number kind : listed ? *legal : pending_kinds_) {
      if (!pending_[kind].empty()) try_kind(state, kind, wanted);
    }
  }

  // True: no legal operation is pending, so the operation that returns cannot happen any more.
  bool is_dead_end(Number state) {
    if (HOLDFAST_PLANTED(breadth_stops_at_dead_ends)) return true;
    const std::vector<Number>* legal = graph_.legal(state);
    if (legal == nullptr || legal->size() > kFew) return false;
    return std::all_of(legal->begin(), legal->end(),
                       [&](Number kind) { return pending_[kind].empty() && observers_[kind].empty(); });
  }
  static constexpr std::size_t kFew = 4;

  // Extends by the first pending operation of the kind that has not happened, and by those whose process
  // has already invoked its next one.
  void try_kind(Number state, Number kind, std::size_t wanted) {
    const Number next = graph_.step(state, kind);
    if (next == StateGraph::kIllegal) return;
    const bool leads_nowhere = is_dead_end(next);
    const bool both_before = sort_[wanted] == Sort::overwriter && is_settled(from_.data(), wanted);
    bool chosen = false;
    for (const std::size_t operation : pending_[kind]) {
      if (is_gone(from_.data(), operation) || !available(from_.data(), operation)) continue;
      if (chosen && !order_.awaited[operation] && operation != wanted) continue;
      if (operations_[operation].unknown && next == state) continue;
      chosen = chosen || !order_.awaited[operation];
      if (leads_nowhere && operation != wanted && !overwrites_[kind]) continue;
      config_ = from_;
      take(config_.data(), operation, next);
      settle(config_.data());
      keep(wanted, both_before);
    }
  }

  const std::vector<Operation>& operations_;
  const Model& model_;
  const std::uint64_t most_bytes_;
  StateGraph graph_;
  const std::vector<Endpoint> endpoints_;
  const ProcessOrder order_;
  const std::vector<bool> forced_;      // by operation
  std::vector<Sort> sort_;              // by operation
  std::size_t at_ = 0, looked_at_ = 0;  // into endpoints_; at a return, into visited_
  bool returning_ = false;
  std::uint64_t until_ = 0;
  std::vector<std::size_t> place_;  // by operation; kNowhere: not pending
  std::vector<std::size_t> free_plain_, free_observers_, free_overwriters_, no_free_;
  std::vector<std::vector<std::size_t>> pending_;  // by kind: all but observers
  std::vector<Number> pending_kinds_, observed_kinds_;
  std::vector<std::vector<Word>> observers_;  // by kind: the bits of pending observers; empty: none
  std::vector<bool> overwrites_;              // by kind
  std::vector<Word> overwriters_;             // the first bits of pending ones
  std::vector<std::size_t> forced_pending_;   // but observers
  std::size_t equal_places_ = 0, fewer_places_ = 0, equal_words_ = 0, fewer_words_ = 0;
  std::vector<Word> frontier_;  // rows of stride()
  std::vector<Word> config_, from_;
  Configurations visited_, results_;
  SearchResult result_;
};

BreadthSearch::BreadthSearch(const std::vector<Operation>& operations, const Model& model,
                             std::uint64_t bytes)
    : state_(std::make_unique<State>(operations, model, bytes)) {}
BreadthSearch::~BreadthSearch() = default;
std::optional<SearchResult> BreadthSearch::advance(std::uint64_t steps) { return state_->advance(steps); }
std::size_t BreadthSearch::settled() const { return state_->result().settled; }
std::uint64_t BreadthSearch::widest() const { return state_->result().widest; }

}  // namespace holdfast::checker
