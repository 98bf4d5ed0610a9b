#include "sim/hunt/coverage.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "checker/history/effects.h"
#include "lib/runtime/check.h"
#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

class Walk {
 public:
  explicit Walk(const checker::History& history) : history_(history) {}

  std::vector<Feature> features() {
    for (const Event& event : history_.events()) see(event);
    return std::move(found_);
  }

 private:
  enum class Sort : std::uint64_t {
    mark,
    pair,
    beside_fault,
    crowd,
    effect,
    mark_beside_fault,
    mark_after_fault
  };

  void see(const Event& event) {
    if (event.f == Function::fault) return fault(event);
    if (event.f == Function::mark) return mark(event);
    if (event.f == Function::effect) {
      note(Sort::effect, {name(event.mode)}, {}, event);
      return step("", 0, hash_of(name(event.mode)), event);
    }
    const std::string_view party = client_of(name(event.process));
    const std::uint64_t word = word_of(event);
    step(name(event.key), hash_of(party), word, event);
    for (const auto& [kind, count] : acting_) {
      if (count > 0) note(Sort::beside_fault, {kind}, {word}, event);
    }
    crowd(event);
  }

  // Alone, beside each kind of fault that acts, and after the last that was over at once (a promotion).
  void mark(const Event& event) {
    const std::string_view hit = name(event.key);
    note(Sort::mark, {hit}, {}, event);
    if (hit.starts_with("fault.")) return;
    for (const auto& [kind, count] : acting_) {
      if (count > 0) note(Sort::mark_beside_fault, {kind, hit}, {}, event);
    }
    if (!last_at_once_.empty()) note(Sort::mark_after_fault, {last_at_once_, hit}, {}, event);
  }

  // What happened, whoever did it.
  std::uint64_t word_of(const Event& event) const {
    Trace trace;
    trace.add((static_cast<std::uint64_t>(event.f) << 8) | static_cast<std::uint64_t>(event.type));
    trace.add(name(event.mode));
    trace.add(kind_of_error(name(event.error)));
    if (event.f >= Function::store_grant && event.f <= Function::store_extend)
      trace.add(static_cast<std::uint64_t>(event.value.empty() ? 2 : event.value.number_or(3)));
    return trace.digest();
  }
  // The first words: numbers and addresses in it are no news.
  static std::string_view kind_of_error(std::string_view error) {
    return error.substr(0, error.find_first_of(" :0123456789"));
  }

  // One thing after another at one lock.
  void step(std::string_view key, std::uint64_t party, std::uint64_t word, const Event& event) {
    Last& last = last_[std::string(key)];
    note(Sort::pair, {}, {last.word, word, last.party == party ? 1u : 0u}, event);
    note(Sort::pair, {}, {last.before, last.word, word}, event);
    last = {.before = last.word, .word = word, .party = party};
  }

  void fault(const Event& event) {
    if (name(event.mode) == checker::kAtOnce) {
      last_at_once_ = name(event.error);
      return;
    }
    int& count = acting_[std::string(name(event.error))];
    count += event.value == 1 ? 1 : -1;
  }

  void crowd(const Event& event) {
    if (event.f == Function::acquire) {
      if (event.type == EventType::invoke)
        ++waiting_;
      else
        waiting_ -= waiting_ > 0 ? 1 : 0;
      if (event.type == EventType::ok) ++holding_;
    } else if (event.f == Function::release && event.type == EventType::invoke) {
      holding_ -= holding_ > 0 ? 1 : 0;
    } else {
      return;
    }
    note(Sort::crowd, {}, {std::bit_width(waiting_), std::bit_width(holding_)}, event);
  }

  void note(Sort sort, std::initializer_list<std::string_view> texts,
            std::initializer_list<std::uint64_t> words, const Event& event) {
    Trace trace;
    trace.add(static_cast<std::uint64_t>(sort));
    for (const std::string_view text : texts) trace.add(text);
    for (const std::uint64_t word : words) trace.add(word);
    if (seen_.insert(trace.digest()).second) found_.push_back({trace.digest(), event.time_ns});
  }

  std::string_view name(checker::Symbol symbol) const { return history_.text(symbol); }
  static std::string_view client_of(std::string_view process) { return process.substr(0, process.find('/')); }
  static std::uint64_t hash_of(std::string_view text) {
    Trace trace;
    trace.add(text);
    return trace.digest();
  }

  struct Last {
    std::uint64_t before = 0, word = 0, party = 0;
  };
  const checker::History& history_;
  std::map<std::string, Last> last_;
  std::map<std::string, int> acting_;  // by kind
  std::string last_at_once_;           // likewise
  std::uint64_t waiting_ = 0, holding_ = 0;
  std::set<std::uint64_t> seen_;
  std::vector<Feature> found_;
};

}  // namespace

std::vector<Feature> features_of(const checker::History& history) { return Walk(history).features(); }

std::vector<Feature> join(const std::vector<Feature>& a, const std::vector<Feature>& b) {
  std::vector<Feature> both;
  both.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
             [](const Feature& one, const Feature& other) { return one.at_ns < other.at_ns; });
  return both;
}

std::vector<Feature> Coverage::add(const std::vector<Feature>& features, std::uint64_t run) {
  std::vector<Feature> fresh;
  for (const Feature& feature : features) {
    Seen& seen = seen_[feature.hash];
    ++seen.runs;
    if (seen.runs == 1) {
      seen.first = run;
      ++singletons_;
      fresh.push_back(feature);
    } else if (seen.runs == 2) {
      --singletons_;
    }
  }
  return fresh;
}

void Coverage::join(const Coverage& other) {
  for (const auto& [hash, theirs] : other.seen_) {
    const auto [at, is_new] = seen_.try_emplace(hash, theirs);
    Seen& ours = at->second;
    if (is_new) {
      singletons_ += ours.runs == 1 ? 1 : 0;
      continue;
    }
    singletons_ -= ours.runs == 1 ? 1 : 0;
    ours.runs += theirs.runs;
    ours.first = std::min(ours.first, theirs.first);
  }
}

void Coverage::put(std::uint64_t hash, const Seen& seen) {
  HF_CHECK(seen.runs > 0 && seen_.emplace(hash, seen).second, "a feature is put once, with its runs");
  singletons_ += seen.runs == 1 ? 1 : 0;
}

}  // namespace holdfast::sim
