// negative-stock: nobody takes from the stock what is not there.
//
// A write (or a compare-and-set) that returned ok with a value below zero took a unit that did not exist.
// Where somebody read such a value that no write is known to have left, one whose outcome is unknown did:
// that is as sure.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

bool writes(const Event& event) { return event.f == Function::write || event.f == Function::cas; }

class NegativeStock : public Check {
 public:
  std::string_view name() const override { return "negative-stock"; }
  std::vector<std::string_view> kinds() const override { return {"below-zero"}; }
  std::string_view about() const override { return "the stock is never written below zero"; }

  Verdict run(const History& history, const CheckContext& context) const override {
    if (auto unknown = unless_numbers(history, {Function::read, Function::write, Function::cas}))
      return *unknown;
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    const Wording words(history);
    Verdict verdict;
    bool sells = context.initial_stock.has_value();
    std::size_t looked_at = 0, maybe = 0;
    std::set<std::pair<Symbol, std::int64_t>> explained;  // values below zero that are reported already
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      sells = sells || event.f == Function::sell;
      if (!writes(event) && event.f != Function::read) continue;
      if (event.type == EventType::invoke) {
        const bool open = pairs.other[i] == kNowhere || events[pairs.other[i]].type == EventType::info;
        if (writes(event) && open && !event.value.empty() && event.value.number() < 0) ++maybe;
        continue;
      }
      if (event.type != EventType::ok || event.value.empty()) continue;
      ++looked_at;
      if (event.value.number() >= 0) continue;
      const bool fresh = explained.insert({event.key, event.value.number()}).second;
      if (!writes(event) && !fresh) continue;
      ++verdict.violations;
      if (verdict.witnesses.size() < 16) verdict.witnesses.push_back(witness_of(history, words, pairs, i));
    }
    if (!sells) {
      verdict = {};
      verdict.reason = "the history has no stock: no sales";
    } else if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (looked_at == 0) {
      verdict.reason = "nobody read or wrote the stock";
    } else if (maybe > 0) {
      verdict.reason = fmt::format("{} writes below zero whose outcome is unknown", maybe);
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} reads and writes, none below zero", looked_at);
    }
    return verdict;
  }

 private:
  // What makes the register a stock: the sale that this operation belongs to, else the first there is.
  static std::size_t sale_of(const History& history, std::size_t position) {
    const auto& events = history.events();
    for (std::size_t i = position; i-- > 0;) {
      if (events[i].f == Function::sell && events[i].process == events[position].process) return i;
    }
    const auto first = std::find_if(events.begin(), events.end(),
                                    [](const Event& event) { return event.f == Function::sell; });
    return first == events.end() ? kNowhere : static_cast<std::size_t>(first - events.begin());
  }

  static Witness witness_of(const History& history, const Wording& words, const Pairs& pairs,
                            std::size_t position) {
    const Event& event = history.events()[position];
    Witness witness;
    witness.kind = "below-zero";
    witness.key = words.text(event.key);
    witness.from_ns = event.time_ns;
    if (pairs.other[position] != kNowhere) {
      witness.events.push_back(pairs.other[position]);
      witness.from_ns = history.events()[pairs.other[position]].time_ns;
    }
    witness.events.push_back(position);
    if (const std::size_t sale = sale_of(history, position); sale != kNowhere) witness.events.push_back(sale);
    std::sort(witness.events.begin(), witness.events.end());
    witness.to_ns = event.time_ns;
    if (writes(event)) {
      witness.why = fmt::format("{} by {} left {} in stock at {}: a unit was taken that was not there.",
                                to_string(event.f), words.text(event.process), event.value.number(),
                                words.time(event.time_ns));
    } else {
      witness.why = fmt::format("{} read {} in stock at {}: somebody took a unit that was not there.",
                                words.text(event.process), event.value.number(), words.time(event.time_ns));
    }
    return witness;
  }
};

}  // namespace

const Check& negative_stock_check() {
  static const NegativeStock check;
  return check;
}

}  // namespace holdfast::checker
