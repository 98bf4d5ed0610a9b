#include "sim/hunt/shrink.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/hunt/draw_case.h"
#include "sim/hunt/shrink_candidates.h"
#include "sim/hunt/shrink_decisions.h"
#include "sim/hunt/shrink_hold_up.h"
#include "sim/hunt/shrink_late.h"
#include "sim/hunt/shrink_triggers.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"
#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

// A range says more than a time, 1730ms more than 2s, and 2s last longer than 1s; below some 16 ms nobody
// waits. What always happens is simpler than what may.
std::size_t length_of(const std::string& text) {
  if (text == "100%") return 1;
  const auto range = parse_duration_range(text);
  if (!range) return text.size();
  constexpr int kNobodyWaits = 24;  // bits
  const auto longest = static_cast<std::uint64_t>(std::max<std::int64_t>(range->high.count(), 0));
  const int bits = std::max(static_cast<int>(std::bit_width(longest)), kNobodyWaits);
  return text.size() + (range->fixed() ? 0 : 4) + static_cast<std::size_t>(bits - kNobodyWaits);
}

void count(const Value& value, Size& size) {
  switch (value.kind) {
    case Value::Kind::table:
      for (const Member& member : value.members) {
        if (member.key == "expect" || member.key == "id") continue;
        ++size.keys;
        count(member.value, size);
      }
      return;
    case Value::Kind::list:
      for (const Value& item : value.items) count(item, size);
      return;
    case Value::Kind::text: size.length += length_of(value.text); return;
    case Value::Kind::integer:
      size.length += std::to_string(value.integer).size() +
                     static_cast<std::size_t>(std::clamp<std::int64_t>(value.integer, 0, 50));
      return;
    case Value::Kind::real:
    case Value::Kind::flag: size.length += 1; return;
  }
}

constexpr std::size_t kFew = 40;  // decisions: more say nothing to anybody
// In the histories of all runs with a message held up: some thousands of small ones, and few large ones.
constexpr std::uint64_t kEventsToHoldUp = 250'000;

// Of the promises that are asked for the one that is broken, and those that are named: with `at-rest` comes a
// client of its own, after the work, and what it does may be part of the failure.
Value asks_for(const Value& document, const std::string& promise, const std::string& and_for = "") {
  Value changed = document;
  Value* const expected = changed.find("expect");
  if (expected == nullptr) return changed;
  std::erase_if(expected->items, [&](const Value& one) {
    const std::string& check = one.find("check")->text;
    return check != and_for && promise != check && !promise.starts_with(check + "/");
  });
  return expected->items.empty() ? document : changed;
}

// Streams that are named after a client or a fault that has another name now.
Changes renamed(const Changes& changes, const std::map<std::string, std::string>& names) {
  if (names.empty() || changes.fixed.empty()) return changes;
  Changes result{.reseeds = changes.reseeds};
  for (const auto& [stream, fixed] : changes.fixed) {
    std::string name;
    for (std::size_t at = 0; at <= stream.size();) {
      const std::size_t end = std::min(stream.find_first_of("/#", at), stream.size());
      const std::string part = stream.substr(at, end - at);
      const auto found = names.find(part);
      name += found == names.end() ? part : found->second;
      if (end < stream.size()) name += stream[end];
      at = end + 1;
    }
    result.fixed[name].insert(fixed.begin(), fixed.end());
  }
  return result;
}

// --- the search --------------------------------------------------------------------------------------------

class Shrinker {
 public:
  Shrinker(const Ground& ground, const HuntCase& from, std::string promise, const ShrinkOptions& options)
      : ground_(ground), best_(from), promise_(std::move(promise)), options_(options) {}

  Shrunk go() {
    limit_ = options_.runs / 4;
    ask_for_less();
    draw_less();
    limit_ = options_.runs * 6 / 10;
    while (leave_out(Seeds::own) || leave_out(Seeds::others)) {
    }
    limit_ = options_.runs * 8 / 10;
    score_ = seeds_that_show(best_.document);
    act_at_events();
    pin();
    go_on_for_longer();
    const std::uint64_t before = runs_;
    limit_ = before + options_.runs;
    most_events_ = events_ + kEventsToHoldUp;
    hold_up();
    most_events_ = kAnyNumber;
    const std::uint64_t held = runs_ - before;
    limit_ = held + options_.runs * 9 / 10;
    const Seeds seeds = score_ == kSeedsThatShow ? Seeds::all : Seeds::as_many;
    while (pass(simpler_values, seeds) || leave_out(seeds)) {
    }
    limit_ = held + options_.runs;
    score_ = seeds_that_show(best_.document);
    keep_few_decisions();
    if (score_ == kSeedsThatShow) take_its_time();
    name_plainly();
    if (score_ == kSeedsThatShow) {
      best_.seed = 1;
      best_.changes = {};
    }
    return {.one = best_, .runs = runs_, .seeds_of_20 = score_, .late_of_20 = late_};
  }

 private:
  // On which seeds a candidate has to show it: the case's own with its changes; on that or on one of a few
  // others; on its own and on as many of the seeds 1 to 20 as the case; on all of these.
  enum class Seeds { own, others, as_many, all };

  bool over() const {
    return runs_ >= limit_ || events_ >= most_events_ || (options_.stop && options_.stop());
  }

  bool shows(const HuntCase& one) {
    ++runs_;
    const auto look = [this](const RunResult& run) { events_ += run.history.events().size(); };
    return try_case(one, {.look = look}).shows(promise_);
  }

  // The case that shows it; nullopt: none of those that were tried.
  std::optional<HuntCase> showing(const Candidate& candidate, Seeds seeds) {
    if (!fits(ground_, candidate.document)) return std::nullopt;
    HuntCase one{.document = candidate.document};
    if (seeds == Seeds::all) return all_seeds_show(one) ? std::optional(one) : std::nullopt;
    one.seed = best_.seed;
    one.changes = renamed(best_.changes, candidate.renamed);
    if (shows(one)) {
      if (seeds != Seeds::as_many || score_ == 0) return one;
      const unsigned shown = more_seeds_that_show(one.document, score_ - 1);
      if (shown < score_) return std::nullopt;
      score_ = shown;
      return one;
    }
    if (seeds != Seeds::others) return std::nullopt;
    one.changes = {};
    for (std::uint64_t seed = 1; seed <= options_.seeds && !over(); ++seed) {
      one.seed = seed;
      if (shows(one)) return one;
    }
    return std::nullopt;
  }

  bool all_seeds_show(HuntCase& one) {
    one.seed = doubtful_;  // the last that did not show something is the first to be asked
    if (!shows(one)) return false;
    for (std::uint64_t seed = 1; seed <= kSeedsThatShow; ++seed) {
      one.seed = seed;
      if (seed == doubtful_ || shows(one)) continue;
      doubtful_ = seed;
      return false;
    }
    one.seed = 1;
    return true;
  }

  // Goes round the candidates until none of them is any better; true: one was.
  bool pass(Candidates (*make)(const Value&), Seeds seeds) {
    bool any = false;
    Candidates candidates = make(best_.document);
    for (std::size_t at = 0, failed = 0; failed < candidates.size() && !over(); ++failed, ++at) {
      if (at >= candidates.size()) at = 0;
      Candidate& candidate = candidates[at];
      if (size_of(candidate.document).cost() >= size_of(best_.document).cost()) continue;
      if (!is_new(candidate.document, seeds)) continue;
      std::optional<HuntCase> found = showing(candidate, seeds);
      if (!found) continue;
      best_ = std::move(*found);
      candidates = make(best_.document);
      any = true;
      failed = static_cast<std::size_t>(-1);  // and those before it are tried again
      --at;
    }
    return any;
  }

  // What did not show it is not run again.
  bool is_new(const Value& document, Seeds seeds) {
    Trace trace;
    trace.add(static_cast<std::uint64_t>(seeds));
    trace.add(seeds == Seeds::own ? best_.seed : 0);
    trace.add(to_toml(document));
    return tried_.insert(trace.digest()).second;
  }

  bool leave_out(Seeds seeds) {
    bool any = false;
    for (const auto make : {fewer_faults, fewer_clients, less_work, smaller_clusters})
      any = pass(make, seeds) || any;
    // Of keys there are many, and few of them matter.
    return pass(fewer_keys, seeds == Seeds::others ? Seeds::own : seeds) || any;
  }

  // Each check costs something in every run.
  void ask_for_less() {
    for (const char* const and_for : {"", "at-rest"}) {
      HuntCase one = best_;
      one.document = asks_for(best_.document, promise_, and_for);
      if (same(one.document, best_.document)) return;
      if (!shows(one)) continue;
      best_ = std::move(one);
      return;
    }
  }

  void draw_less() {
    if (best_.changes.empty()) return;
    HuntCase one{.document = best_.document, .seed = best_.seed};
    for (std::uint64_t seed = 0; seed <= options_.seeds; ++seed) {
      if (seed > 0) one.seed = seed;
      if (!shows(one)) continue;
      best_ = std::move(one);
      return;
    }
    const auto changes = few_decisions(
        best_, [this](const HuntCase& some) { return shows(some); }, [this] { return over(); });
    if (changes) best_.changes = *changes;
  }

  unsigned seeds_that_show(const Value& document) {
    unsigned shown = 0;
    for (std::uint64_t seed = 1; seed <= kSeedsThatShow; ++seed)
      shown += shows({.document = document, .seed = seed}) ? 1 : 0;
    return shown;
  }

  // How many, if more than `than` can still do; else some number that is not more.
  unsigned more_seeds_that_show(const Value& document, unsigned than) {
    constexpr std::uint64_t kEnoughToTell = 7;
    unsigned shown = 0;
    for (std::uint64_t seed = 1; seed <= kSeedsThatShow && shown + kSeedsThatShow - seed + 1 > than; ++seed) {
      shown += shows({.document = document, .seed = seed}) ? 1 : 0;
      // It is not to be expected any more.
      if (seed == kEnoughToTell && shown * kSeedsThatShow <= than * kEnoughToTell && shown < kEnoughToTell)
        return shown;
    }
    return shown;
  }

  // Takes the first that shows on more seeds, with no more in it; or, if all show it already, that has fewer
  // faults at times.
  bool raise(const Candidates& candidates) {
    const bool full = score_ == kSeedsThatShow;
    const std::size_t times = faults_at_times(best_.document);
    if (full && times == 0) return false;
    for (const Candidate& candidate : candidates) {
      if (over()) return false;
      if (full && faults_at_times(candidate.document) >= times) continue;
      if (size_of(candidate.document).parts() > size_of(best_.document).parts()) continue;
      if (!fits(ground_, candidate.document) || same(candidate.document, best_.document)) continue;
      const unsigned than = full ? score_ - 1 : score_;
      const unsigned shown = more_seeds_that_show(candidate.document, than);
      if (shown <= than) continue;
      score_ = shown;
      best_ = {.document = candidate.document};
      while (!shows(best_)) ++best_.seed;
      return true;
    }
    return false;
  }

  void act_at_events() {
    while (!over() && raise(event_triggers(best_))) ++runs_;  // the run that it looks into
  }

  // What is left to chance is fixed where that makes more seeds show it.
  void pin() {
    while (!over() && score_ < kSeedsThatShow) {
      Candidates candidates = simpler_values(best_.document);
      for (const char* const latency : {"100us", "1ms"}) {
        Value with = best_.document;
        set_key(section_of(with, "network"), "latency", text_value(latency));
        candidates.push_back({std::move(with)});
      }
      const Candidates keys = fewer_keys(best_.document);
      candidates.insert(candidates.end(), keys.begin(), keys.end());
      if (!raise(candidates)) return;
    }
  }

  // What shows on some seeds shows on all of them where it is tried often enough.
  void go_on_for_longer() {
    if (score_ == kSeedsThatShow) return;
    for (const Candidate& candidate : more_work(best_.document)) {
      if (over()) return;
      if (!fits(ground_, candidate.document)) continue;
      HuntCase one{.document = candidate.document};
      if (!all_seeds_show(one)) continue;
      score_ = kSeedsThatShow;
      best_ = std::move(one);
      return;
    }
  }

  // What is a race shows on every seed where a message or two come late. Unless it does, nothing is held up.
  void hold_up() {
    constexpr int kMost = 2;
    const HuntCase before = best_;
    const unsigned score = score_;
    for (int held = 0; held < kMost && score_ < kSeedsThatShow && hold_one_up(); ++held) {
      act_at_events();
      pin();
    }
    if (score_ == kSeedsThatShow) return;
    best_ = before;
    score_ = score;
  }

  // That which shows on most seeds.
  bool hold_one_up() {
    const Candidates candidates = held_up(best_);
    ++runs_;
    const unsigned before = score_;
    for (const Candidate& candidate : candidates) {
      if (over() || score_ == kSeedsThatShow) break;
      if (!fits(ground_, candidate.document)) continue;
      const unsigned shown = more_seeds_that_show(candidate.document, score_);
      if (shown <= score_) continue;
      score_ = shown;
      best_ = {.document = candidate.document};
    }
    if (score_ == before) return false;
    while (!shows(best_)) ++best_.seed;
    return true;
  }

  // On how many seeds of late machines it shows: of all of them, and on the one that shows least. Less is
  // said of a case that shows on no more than `than` of all.
  struct Shown {
    unsigned sum = 0, least = 0;
  };
  Shown on_late_machines(const Value& document, unsigned than) {
    constexpr unsigned kEnoughToTell = 6;
    constexpr unsigned kAll = kSeedsThatShow * static_cast<unsigned>(std::size(kLateMachines));
    unsigned sum = 0, least = kSeedsThatShow, asked = 0;
    for (const Lateness& late : kLateMachines) {
      const Value there = on_late_machine(document, late);
      const unsigned before = sum;
      for (std::uint64_t seed = 1; seed <= kSeedsThatShow; ++seed) {
        if (sum + kAll - asked <= than) return {.sum = sum};
        ++asked;
        sum += shows({.document = there, .seed = seed}) ? 1 : 0;
        const bool few = sum * kAll <= than * kEnoughToTell / 2 && sum < kEnoughToTell;
        if (asked == kEnoughToTell && than > 0 && few) return {.sum = sum};
      }
      least = std::min(least, sum - before);
    }
    return {.sum = sum, .least = least};
  }

  // Every seed shows it, and that stays so.
  void take_its_time() {
    if (over()) return;
    Shown now = on_late_machines(best_.document, 0);
    while (!over() && now.least < kSeedsThatShow && take_longer(now)) {
    }
    late_ = now.least;
  }

  // The first that shows on more seeds of late machines.
  bool take_longer(Shown& now) {
    Candidates candidates = event_triggers(best_);
    ++runs_;
    const Candidates longer = longer_times(best_.document);
    candidates.insert(candidates.end(), longer.begin(), longer.end());
    for (const Candidate& candidate : candidates) {
      if (over()) return false;
      if (!fits(ground_, candidate.document) || same(candidate.document, best_.document)) continue;
      const Shown then = on_late_machines(candidate.document, now.sum);
      if (then.sum <= now.sum) continue;
      HuntCase one{.document = candidate.document};
      if (!all_seeds_show(one)) continue;
      best_ = std::move(one);
      now = then;
      return true;
    }
    return false;
  }

  // Where the scenario alone shows it on some seeds only. With all that was drawn fixed every seed shows it.
  void keep_few_decisions() {
    if (score_ == kSeedsThatShow) return;
    const auto on_some_seeds = [this](const HuntCase& some) {
      HuntCase one = some;
      for (const std::uint64_t seed : {some.seed, some.seed + 1, some.seed + 2}) {
        one.seed = seed;
        if (!shows(one)) return false;
      }
      return true;
    };
    const auto changes = few_decisions(best_, on_some_seeds, [this] { return over(); });
    if (changes && count_of(*changes) <= kFew) best_.changes = *changes;
  }

  void name_plainly() {
    const Candidate candidate = with_plain_ids(best_.document);
    if (same(candidate.document, best_.document) || !fits(ground_, candidate.document)) return;
    HuntCase one{.document = candidate.document,
                 .seed = best_.seed,
                 .changes = renamed(best_.changes, candidate.renamed)};
    const unsigned shown = seeds_that_show(one.document);
    if (shown < score_ || (score_ < kSeedsThatShow && !shows(one))) return;
    score_ = shown;
    best_ = std::move(one);
  }

  const Ground& ground_;
  HuntCase best_;
  const std::string promise_;
  const ShrinkOptions& options_;
  std::uint64_t runs_ = 0, limit_ = 0;
  static constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t events_ = 0, most_events_ = kAnyNumber;  // of all histories: what they cost
  std::uint64_t doubtful_ = 1;
  unsigned score_ = 0;  // on how many of the seeds 1..20 the document shows it
  unsigned late_ = 0;   // and beside a load, too
  std::set<std::uint64_t> tried_;
};

}  // namespace

std::uint64_t Size::parts() const { return 2'000 * faults + 600 * tasks + 300 * nodes + 20 * operations; }

std::uint64_t Size::cost() const { return parts() + 10 * keys + length; }

Size size_of(const Value& document) {
  Size size;
  if (const Value* const faults = document.find("fault")) size.faults = faults->items.size();
  size.clients = static_cast<std::size_t>(number_at(document, "workload", "clients", 3));
  size.tasks = size.clients * static_cast<std::size_t>(number_at(document, "workload", "threads", 1));
  size.operations = size.tasks * static_cast<std::size_t>(number_at(document, "workload", "rounds", 10));
  const Value* const cluster = document.find("cluster");
  const Value* const nodes = cluster == nullptr ? nullptr : cluster->find("nodes");
  size.nodes = nodes == nullptr ? 1 : nodes->items.size();
  count(document, size);
  return size;
}

Shrunk shrink(const Ground& ground, const HuntCase& from, const std::string& promise,
              const ShrinkOptions& options) {
  return Shrinker(ground, from, promise, options).go();
}

}  // namespace holdfast::sim
