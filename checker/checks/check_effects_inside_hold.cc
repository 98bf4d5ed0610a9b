// effects-inside-hold: a write to the protected resource takes effect while its writer holds the lock that
// guards it.
//
// A write that returned ok took effect at some moment between its invocation and its completion. It is
// reported when no such moment lies in a hold of its writer of the lock that guards the resource: a hold of
// the acquisition that the write names, else any. A hold that is shared with readers covers no write. Which
// lock that is: Guards, below.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

// One write that took effect.
struct Write {
  std::size_t at = 0;  // position of its completion
  std::int64_t begin_ns = 0, end_ns = 0;
  Symbol owner = 0, id = 0, resource = 0, process = 0;
};

// Holds by who has them, and which of them covers a write. O(log n) a question.
class Cover {
 public:
  Cover(const std::vector<Hold>& holds, bool by_id) : holds_(holds) {
    for (std::size_t i = 0; i < holds.size(); ++i) {
      const Hold& hold = holds[i];
      if (hold.shared || (by_id && hold.id == 0)) continue;
      List& list = lists_[{hold.owner, by_id ? hold.id : hold.key}];
      const bool longest = list.longest.empty() || hold.to_ns > holds[list.longest.back()].to_ns;
      list.all.push_back(i);
      list.longest.push_back(longest ? i : list.longest.back());
    }
  }

  // Of the holds of `write`'s owner with that id, or of that key: the one that ends last of those that began
  // before the write was over. Null: there is none.
  const Hold* best(const Write& write, Symbol of) const {
    const auto found = lists_.find({write.owner, of});
    if (found == lists_.end()) return nullptr;
    const List& list = found->second;
    const auto end =
        std::upper_bound(list.all.begin(), list.all.end(), write.at,
                         [&](std::size_t at, std::size_t hold) { return at < holds_[hold].acquired; });
    const Hold* best = nullptr;
    if (end != list.all.begin())
      best = &holds_[list.longest[static_cast<std::size_t>(end - list.all.begin()) - 1]];
    // Of two processes at one time nobody knows who was first.
    for (auto at = end; at != list.all.end() && holds_[*at].from_ns == write.end_ns; ++at) {
      if (holds_[*at].process != write.process) return &holds_[*at];
    }
    return best;
  }
  // The keys, or ids, of the holds that cover `write`.
  std::vector<Symbol> covering(const Write& write) const {
    std::vector<Symbol> found;
    for (auto list = lists_.lower_bound({write.owner, 0});
         list != lists_.end() && list->first.first == write.owner; ++list) {
      if (covers(best(write, list->first.second), write)) found.push_back(list->first.second);
    }
    return found;
  }
  bool any(Symbol owner, Symbol of) const { return lists_.contains({owner, of}); }
  static bool covers(const Hold* hold, const Write& write) {
    return hold != nullptr && hold->to_ns >= write.begin_ns;
  }

 private:
  struct List {
    std::vector<std::size_t> all, longest;  // holds as they begin; of those up to here the one that ends last
  };
  const std::vector<Hold>& holds_;
  std::map<std::pair<Symbol, Symbol>, List> lists_;
};

// Which lock guards each resource: the one of its name; where there is but one lock, that; else the one that
// covers most of its writes, by the acquisitions that they name or by what their owners hold (as in Eraser's
// lock sets; Savage and others, 1997). Absent: nobody who wrote it held anything.
class Guards {
 public:
  Guards(const std::vector<Hold>& holds, const Cover& by_key, const Cover& by_id)
      : by_key_(by_key), by_id_(by_id) {
    for (const Hold& hold : holds) locks_.insert(hold.key);
  }

  void look_at(const Write& write) {
    if (locks_.contains(write.resource) || locks_.size() < 2) return;
    const Hold* const named = write.id == 0 ? nullptr : by_id_.best(write, write.id);
    for (const Symbol key : named != nullptr ? std::vector{named->key} : by_key_.covering(write)) {
      auto& votes = votes_[write.resource];
      const auto mine =
          std::find_if(votes.begin(), votes.end(), [&](const auto& vote) { return vote.first == key; });
      if (mine == votes.end()) {
        votes.emplace_back(key, 1);
      } else {
        ++mine->second;
      }
    }
  }

  std::optional<Symbol> of(Symbol resource) const {
    if (locks_.contains(resource)) return resource;
    if (locks_.size() == 1) return *locks_.begin();
    const auto votes = votes_.find(resource);
    if (votes == votes_.end()) return std::nullopt;
    return std::max_element(votes->second.begin(), votes->second.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;  // the first of equals
  }

 private:
  const Cover &by_key_, &by_id_;
  std::set<Symbol> locks_;
  std::map<Symbol, std::vector<std::pair<Symbol, std::size_t>>> votes_;  // by resource, as they come up
};

class EffectsInsideHold : public Check {
 public:
  std::string_view name() const override { return "effects-inside-hold"; }
  std::vector<std::string_view> kinds() const override { return {"effect-outside-hold"}; }
  std::string_view about() const override {
    return "writes to the resource take effect inside the writer's hold of the lock that guards it";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    Verdict verdict;
    const std::vector<Write> writes = writes_of(events, pairs);
    if (writes.empty()) {
      verdict.reason = "the history has no writes to a resource";
      return verdict;
    }
    const bool locks = std::any_of(events.begin(), events.end(),
                                   [](const Event& event) { return event.f == Function::acquire; });
    if (!locks) {
      verdict.reason = "the history has no acquire";
      return verdict;
    }
    const std::vector<Hold> holds = build_holds(history, pairs, context.reentrant);
    const Cover by_key(holds, false), by_id(holds, true);
    Guards guards(holds, by_key, by_id);
    for (const Write& write : writes) guards.look_at(write);
    const Wording words(history);
    for (const Write& write : writes) {
      const std::optional<Symbol> guard = guards.of(write.resource);
      const bool named = write.id != 0 && by_id.any(write.owner, write.id);
      const Hold* const hold = named   ? by_id.best(write, write.id)
                               : guard ? by_key.best(write, *guard)
                                       : nullptr;
      if (Cover::covers(hold, write) && guard == hold->key) continue;
      ++verdict.violations;
      if (verdict.witnesses.size() < 16)
        verdict.witnesses.push_back(witness_of(words, events[write.at], write, hold, guard, pairs));
    }
    verdict.outcome = verdict.violations > 0 ? Outcome::violated : Outcome::holds;
    verdict.reason = verdict.violations > 0
                         ? verdict.witnesses.front().why
                         : fmt::format("{} writes and sales, all inside a hold", writes.size());
    return verdict;
  }

 private:
  static std::vector<Write> writes_of(const std::vector<Event>& events, const Pairs& pairs) {
    std::vector<Write> writes;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.type != EventType::ok) continue;
      if (event.f != Function::write && event.f != Function::cas && event.f != Function::sell) continue;
      const std::size_t invoked = pairs.other[i];
      writes.push_back({.at = i,
                        .begin_ns = invoked == kNowhere ? event.time_ns : events[invoked].time_ns,
                        .end_ns = event.time_ns,
                        .owner = event.owner != 0 ? event.owner : event.process,
                        .id = event.id,
                        .resource = event.key,
                        .process = event.process});
    }
    return writes;
  }

  static Witness witness_of(const Wording& words, const Event& event, const Write& write, const Hold* hold,
                            std::optional<Symbol> guard, const Pairs& pairs) {
    Witness witness;
    witness.kind = "effect-outside-hold";
    witness.key = words.text(write.resource);
    witness.from_ns = write.begin_ns;
    witness.to_ns = write.end_ns;
    std::string what = "without any hold";
    if (guard && Cover::covers(hold, write)) {
      what = fmt::format("in the hold of {} by {}, while {} guards it", words.text(hold->key),
                         words.grant(*hold), words.text(*guard));
    } else if (hold != nullptr) {
      what = "but its hold (" + words.grant(*hold) + ") was over at " + words.time(hold->to_ns);
    } else if (guard && *guard != write.resource) {
      what = fmt::format("without a hold of {}, which guards {}", words.text(*guard),
                         words.text(write.resource));
    }
    witness.why = fmt::format("{} by {} took effect at {} or later, {}.", to_string(event.f),
                              words.text(write.process), words.time(write.begin_ns), what);
    if (hold != nullptr) {
      for (const std::size_t position : {hold->invoked, hold->acquired, hold->ended}) {
        if (position != kNowhere) witness.events.push_back(position);
      }
    }
    if (pairs.other[write.at] != kNowhere) witness.events.push_back(pairs.other[write.at]);
    witness.events.push_back(write.at);
    std::sort(witness.events.begin(), witness.events.end());
    return witness;
  }
};

}  // namespace

const Check& effects_inside_hold_check() {
  static const EffectsInsideHold check;
  return check;
}

}  // namespace holdfast::checker
