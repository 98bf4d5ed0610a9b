#include "sim/hunt/hunt.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/runtime/check.h"
#include "sim/hunt/draw_case.h"
#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

struct Attempt {
  std::uint64_t number = 0;
  Derived derived;
  Trial trial;
};

class Hunt {
 public:
  explicit Hunt(HuntOptions options)
      : options_(std::move(options)),
        corpus_(options_.ground, options_.seed, std::move(options_.from.entries)),
        state_(std::move(options_.from)),
        trace_(state_.trace) {
    if (state_.runs == 0) trace_ = Trace();
  }

  HuntState go() {
    HF_CHECK(options_.shard < options_.shards, "a shard has a number below that of all");
    HF_CHECK(options_.shards == 1 || !options_.feedback, "with feedback there are no shards");
    std::uint64_t next = options_.shard + state_.runs * options_.shards;
    for (std::uint64_t left = options_.runs - std::min(options_.runs, state_.runs); left > 0;) {
      std::vector<Attempt> generation(static_cast<std::size_t>(std::min(left, kGeneration)));
      for (Attempt& attempt : generation) {
        attempt.number = next;
        next += options_.shards;
      }
      left -= generation.size();
      run(generation);
      for (Attempt& attempt : generation) take(attempt);
      if (options_.progress) options_.progress(state_);
      if (options_.stop && options_.stop(state_)) break;
    }
    state_.entries = corpus_.take_entries();
    return std::move(state_);
  }

 private:
  void run(std::vector<Attempt>& generation) {
    const std::function<void(std::size_t)> one = [&](std::size_t i) { try_one(generation[i]); };
    if (options_.for_each) return options_.for_each(generation.size(), one);
    for (std::size_t i = 0; i < generation.size(); ++i) one(i);
  }

  void try_one(Attempt& attempt) const {
    attempt.derived = options_.feedback ? corpus_.derive(attempt.number) : corpus_.draw(attempt.number);
    attempt.trial = try_case(attempt.derived.one, {.features = true});
    if (attempt.number % kRunsBetweenRepeats != 0 || !attempt.trial.failures.empty()) return;
    if (const std::optional<Failure> other = other_way(attempt.derived.one, attempt.trial))
      attempt.trial.failures.push_back(*other);
  }

  void take(Attempt& attempt) {
    const Trial& trial = attempt.trial;
    ++state_.runs;
    state_.virtual_ns += trial.length_ns;
    state_.grants += trial.grants;
    state_.role_changes += trial.role_changes;
    if (!trial.judged) ++state_.unjudged;
    for (const std::string& mark : trial.marks) {
      if (!mark.starts_with("fault.")) ++state_.marks[mark];
    }
    trace_.add(trial.trace);
    if (options_.shards > 1) state_.traces.push_back(trial.trace);
    state_.trace = trace_.digest();
    for (const Failure& failure : trial.failures) {
      Find& find = state_.finds[failure.name()];
      if (find.count++ > 0) continue;
      find.failure = failure;
      find.first = attempt.derived.one;
      find.run = attempt.number;
      find.seed = options_.seed;
    }
    const std::vector<Feature> fresh = state_.coverage.add(trial.features, attempt.number);
    if (options_.feedback) corpus_.take(attempt.derived, fresh);
    state_.features = state_.coverage.size();
    state_.singletons = state_.coverage.singletons();
    state_.corpus += fresh.empty() ? 0 : 1;
  }

  HuntOptions options_;
  Corpus corpus_;
  HuntState state_;
  Trace trace_;
};

}  // namespace

double HuntState::unseen() const {
  return runs == 0 ? 1.0 : static_cast<double>(singletons) / static_cast<double>(runs);
}

HuntState hunt(HuntOptions options) { return Hunt(std::move(options)).go(); }

std::uint64_t probe_of(const Ground& ground) {
  constexpr std::uint64_t kCases = 8;
  const Corpus corpus(ground, 0);
  Trace trace;
  for (std::uint64_t number = 0; number < kCases; ++number)
    trace.add(try_case(corpus.draw(number).one).trace);
  return trace.digest();
}

}  // namespace holdfast::sim
