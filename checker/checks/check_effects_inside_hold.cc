// effects-inside-hold: a write to the protected resource takes effect while its writer holds the lock.
//
// A write that returned ok took effect at some moment between its invocation and its completion. It is
// reported when no such moment lies in a hold of the writer: a hold of the acquisition that the write names,
// else any hold of its owner.
#include <fmt/format.h>

#include <algorithm>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

class EffectsInsideHold : public Check {
 public:
  std::string_view name() const override { return "effects-inside-hold"; }
  std::vector<std::string_view> kinds() const override { return {"effect-outside-hold"}; }
  std::string_view about() const override {
    return "writes to the resource take effect inside the writer's hold";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    const std::vector<Hold> holds = build_holds(history, pairs, context.reentrant);
    const Wording words(history);
    std::vector<std::vector<std::size_t>> by_id(history.symbols()), by_owner(history.symbols());
    for (std::size_t i = 0; i < holds.size(); ++i) {
      if (holds[i].id != 0) by_id[holds[i].id].push_back(i);
      by_owner[holds[i].owner].push_back(i);
    }
    Verdict verdict;
    std::size_t writes = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.type != EventType::ok) continue;
      if (event.f != Function::write && event.f != Function::cas && event.f != Function::sell) continue;
      ++writes;
      const std::int64_t begin_ns =
          pairs.other[i] == kNowhere ? event.time_ns : events[pairs.other[i]].time_ns;
      const Symbol owner = event.owner != 0 ? event.owner : event.process;
      const auto& mine = event.id != 0 && !by_id[event.id].empty() ? by_id[event.id] : by_owner[owner];
      // The last holds that began before the write's completion, the newest first.
      const Hold* nearest = nullptr;
      bool inside = false;
      const auto end = std::upper_bound(mine.begin(), mine.end(), i, [&](std::size_t at, std::size_t hold) {
        return at < holds[hold].acquired;
      });
      std::size_t looked_at = 0;
      for (auto at = end; at != mine.begin() && !inside && looked_at < 64; ++looked_at) {
        const Hold& hold = holds[*--at];
        if (nearest == nullptr || hold.to_ns > nearest->to_ns) nearest = &hold;
        inside = hold.to_ns >= begin_ns;
      }
      if (inside) continue;
      ++verdict.violations;
      if (verdict.witnesses.size() >= 16) continue;
      Witness witness;
      witness.kind = "effect-outside-hold";
      witness.key = words.text(event.key);
      witness.from_ns = begin_ns;
      witness.to_ns = event.time_ns;
      witness.why = fmt::format("{} by {} took effect at {} or later, {}.", to_string(event.f),
                                words.text(event.process), words.time(begin_ns),
                                nearest == nullptr ? "without any hold"
                                                   : "but its hold (" + words.grant(*nearest) +
                                                         ") was over at " + words.time(nearest->to_ns));
      if (nearest != nullptr) {
        for (const std::size_t position : {nearest->invoked, nearest->acquired, nearest->ended}) {
          if (position != kNowhere) witness.events.push_back(position);
        }
      }
      if (pairs.other[i] != kNowhere) witness.events.push_back(pairs.other[i]);
      witness.events.push_back(i);
      std::sort(witness.events.begin(), witness.events.end());
      verdict.witnesses.push_back(std::move(witness));
    }
    if (writes == 0) {
      verdict.reason = "the history has no writes to a resource";
      return verdict;
    }
    const bool locks = std::any_of(events.begin(), events.end(),
                                   [](const Event& event) { return event.f == Function::acquire; });
    if (!locks) {
      verdict = {};
      verdict.reason = "the history has no acquire";
      return verdict;
    }
    verdict.outcome = verdict.violations > 0 ? Outcome::violated : Outcome::holds;
    verdict.reason = verdict.violations > 0 ? verdict.witnesses.front().why
                                            : fmt::format("{} writes and sales, all inside a hold", writes);
    return verdict;
  }
};

}  // namespace

const Check& effects_inside_hold_check() {
  static const EffectsInsideHold check;
  return check;
}

}  // namespace holdfast::checker
