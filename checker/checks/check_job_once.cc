// job-once: did the job of every period run exactly once?
//
// A `job` operation is one run; its value is the period, from 1. One that returned ok has run, one that
// failed has not, one whose outcome is unknown may have. The process "schedule" says at the end how many
// periods were `due`. A period that has more than one run is one too many (`twice`); a period that was due
// and has none, and none whose outcome is unknown, went by without its job (`skipped`).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

constexpr std::size_t kTold = 16;  // witnesses at most

struct Period {
  std::vector<std::size_t> runs;  // positions of the invocations that returned ok
  bool unclear = false;           // one may have run
};

class JobOnce : public Check {
 public:
  std::string_view name() const override { return "job-once"; }
  std::string_view about() const override { return "the job of every period runs exactly once"; }
  std::vector<std::string_view> kinds() const override { return {"twice", "skipped"}; }

  Verdict run(const History& history, const CheckContext&) const override {
    if (auto unknown = unless_numbers(history, {Function::other})) return *unknown;
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    std::map<std::pair<Symbol, std::int64_t>, Period> periods;  // by key and number
    std::map<Symbol, std::size_t> due;                          // by key: the schedule's last word
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f != Function::other) continue;
      const std::string_view what = history.text(event.error);
      if (what == "due" && history.text(event.process) == "schedule") due[event.key] = i;
      if (what != "job" || event.type != EventType::invoke) continue;
      Period& period = periods[{event.key, event.value.number_or(0)}];
      const std::size_t end = pairs.other[i];
      if (end == kNowhere || events[end].type == EventType::info) {
        period.unclear = true;
      } else if (events[end].type == EventType::ok) {
        period.runs.push_back(i);
      }
    }
    Verdict verdict;
    std::size_t runs = 0;
    for (const auto& [at, period] : periods) {
      runs += period.runs.size();
      if (period.runs.size() > 1) twice(history, pairs, at.second, period, verdict);
    }
    bool unclear = false;
    for (const auto& [key, said] : due) {
      for (std::int64_t number = 1; number <= events[said].value.number_or(0); ++number) {
        const auto found = periods.find({key, number});
        if (found != periods.end() && !found->second.runs.empty()) continue;
        if (found != periods.end() && found->second.unclear) {
          unclear = true;
        } else {
          skipped(history, said, number, verdict);
        }
      }
    }
    std::stable_sort(verdict.witnesses.begin(), verdict.witnesses.end(),
                     [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (due.empty()) {
      verdict.reason = "the history does not say how many periods were due";
    } else if (unclear) {
      verdict.reason = "whether the job of a period ran is unknown";
    } else if (runs == 0) {
      verdict.reason = "no job was due";
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} periods, each with one run of its job", runs);
    }
    return verdict;
  }

 private:
  static void twice(const History& history, const Pairs& pairs, std::int64_t number, const Period& period,
                    Verdict& verdict) {
    ++verdict.violations;
    if (verdict.witnesses.size() >= kTold) return;
    const auto& events = history.events();
    const Wording words(history);
    const std::size_t first = period.runs[0], second = period.runs[1];
    Witness witness;
    witness.kind = "twice";
    witness.key = words.text(events[first].key);
    witness.events = {first, pairs.other[first], second, pairs.other[second]};
    std::sort(witness.events.begin(), witness.events.end());
    witness.from_ns = events[first].time_ns;
    witness.to_ns = events[pairs.other[second]].time_ns;
    witness.why = fmt::format("The job of period {} ran {}: by {} at {}, and by {} at {}.", number,
                              period.runs.size() == 2 ? "twice" : fmt::format("{} times", period.runs.size()),
                              words.text(events[first].process), words.time(witness.from_ns),
                              words.text(events[second].process), words.time(events[second].time_ns));
    verdict.witnesses.push_back(std::move(witness));
  }

  static void skipped(const History& history, std::size_t said, std::int64_t number, Verdict& verdict) {
    ++verdict.violations;
    if (verdict.witnesses.size() >= kTold) return;
    const Wording words(history);
    const Event& due = history.events()[said];
    Witness witness;
    witness.kind = "skipped";
    witness.key = words.text(due.key);
    witness.events = {said};
    witness.from_ns = witness.to_ns = due.time_ns;
    witness.why = fmt::format("Period {} of {} went by and nobody ran its job {}.", number,
                              due.value.number_or(0), witness.key);
    verdict.witnesses.push_back(std::move(witness));
  }
};

}  // namespace

const Check& job_once_check() {
  static const JobOnce check;
  return check;
}

}  // namespace holdfast::checker
