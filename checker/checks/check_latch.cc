// latch: no await returns before the count is zero, and every await returns after that.
//
// When an await returns ok, the latch must have been set, and as many count-downs as its count must have been
// invoked: each of those may have taken effect, and no later one can have. When as many count-downs have
// returned ok, an open await must return within the bound of `progress`, unless its client died or a fault
// still acts. A latch that is set twice is not judged.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

struct LatchEvents {
  std::size_t set = kNowhere;  // position of the invocation
  bool again = false;
  std::vector<std::size_t> invoked, counted;  // count-downs: invocations, returns
};

class LatchCheck : public Check {
 public:
  std::string_view name() const override { return "latch"; }
  std::vector<std::string_view> kinds() const override { return {"opened-early", "never-opened"}; }
  std::string_view about() const override {
    return "no await returns before the latch's count is zero, and every await returns after that";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    const Wording words(history);
    std::map<Symbol, LatchEvents> latches;
    std::map<std::string, std::int64_t> died_ns;  // client -> its last death
    std::map<Symbol, bool> acting;                // act of a fault (or the fault) -> it is not healed
    std::int64_t healed_ns = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f == Function::crash) died_ns[std::string(history.text(event.process))] = event.time_ns;
      if (event.f == Function::fault) {
        acting[event.id != 0 ? event.id : event.key] =
            event.value != 0 && history.text(event.mode) != kAtOnce;
        healed_ns = event.time_ns;
      }
      if (event.f == Function::resize && (event.type == EventType::invoke || pairs.other[i] == kNowhere)) {
        LatchEvents& latch = latches[event.key];
        latch.again = latch.set != kNowhere;
        latch.set = i;
      }
      if (event.f != Function::count_down) continue;
      if (event.type == EventType::invoke) latches[event.key].invoked.push_back(i);
      if (event.type == EventType::ok) latches[event.key].counted.push_back(i);
    }
    Verdict verdict;
    std::size_t awaits = 0, open = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f != Function::await) continue;
      const LatchEvents& latch = latches[event.key];
      if (latch.again) continue;
      if (event.type == EventType::ok) {
        ++awaits;
        early(words, events, latch, pairs.other[i], i, verdict);
      } else if (event.type == EventType::invoke && pairs.other[i] == kNowhere) {
        ++open;
        const auto died = died_ns.find(std::string(client_of(history.text(event.process))));
        if (died != died_ns.end() && died->second >= event.time_ns) continue;
        if (std::any_of(acting.begin(), acting.end(), [](const auto& fault) { return fault.second; }))
          continue;
        stuck(words, events, latch, i, std::max(healed_ns, event.time_ns), context, verdict);
      }
    }
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (awaits == 0) {
      verdict.reason = "the history has no await that returned";
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason =
          fmt::format("{} awaits returned, each after the count was zero; {} still wait", awaits, open);
    }
    return verdict;
  }

 private:
  static void report(const Wording& words, const std::vector<Event>& events, std::string kind,
                     std::string why, std::vector<std::size_t> positions, Verdict& verdict) {
    ++verdict.violations;
    if (verdict.witnesses.size() >= 16) return;
    std::erase(positions, kNowhere);
    std::sort(positions.begin(), positions.end());
    Witness witness;
    witness.kind = std::move(kind);
    witness.why = std::move(why);
    witness.key = words.text(events[positions.back()].key);
    witness.from_ns = events[positions.front()].time_ns;
    witness.to_ns = events[positions.back()].time_ns;
    witness.events = std::move(positions);
    verdict.witnesses.push_back(std::move(witness));
  }

  static void early(const Wording& words, const std::vector<Event>& events, const LatchEvents& latch,
                    std::size_t asked, std::size_t returned, Verdict& verdict) {
    const auto before = std::lower_bound(latch.invoked.begin(), latch.invoked.end(), returned);
    const auto counted = before - latch.invoked.begin();
    const bool was_set = latch.set < returned;
    if (was_set && counted >= events[latch.set].value.number_or(0)) return;
    std::vector<std::size_t> positions(latch.invoked.begin(), before);
    positions.insert(positions.end(), {asked, returned, was_set ? latch.set : kNowhere});
    const Event& event = events[returned];
    report(words, events, "opened-early",
           was_set ? fmt::format(
                         "The await of {} on {} returned at {}, when {} of {} count-downs had been invoked.",
                         words.text(event.process), words.text(event.key), words.time(event.time_ns), counted,
                         events[latch.set].value.number_or(0))
                   : fmt::format("The await of {} on {} returned at {}, before the latch was set.",
                                 words.text(event.process), words.text(event.key), words.time(event.time_ns)),
           std::move(positions), verdict);
  }

  static void stuck(const Wording& words, const std::vector<Event>& events, const LatchEvents& latch,
                    std::size_t asked, std::int64_t since_ns, const CheckContext& context, Verdict& verdict) {
    if (latch.set == kNowhere || std::ssize(latch.counted) < events[latch.set].value.number_or(0)) return;
    const std::size_t last = latch.counted[static_cast<std::size_t>(
        std::max<std::int64_t>(events[latch.set].value.number_or(0), 1) - 1)];
    const std::int64_t down_ns = std::max(events[last].time_ns, since_ns);
    if (context.progress_bound_ns == 0) return;  // nobody says how long is too long
    if (context.end_ns - down_ns <= context.lease_ns + context.progress_bound_ns) return;
    std::vector<std::size_t> positions(latch.counted.begin(), latch.counted.end());
    positions.insert(positions.end(), {asked, latch.set});
    const Event& event = events[asked];
    report(words, events, "never-opened",
           fmt::format("{} waited to the end of the run for {}, whose count was zero at {}.",
                       words.text(event.process), words.text(event.key), words.time(events[last].time_ns)),
           std::move(positions), verdict);
  }
};

}  // namespace

const Check& latch_check() {
  static const LatchCheck check;
  return check;
}

}  // namespace holdfast::checker
