// oversell and lost-update: what happened to the protected stock.
//
// A sale that returned ok took its units; one with an unknown outcome may have. It is oversold when more was
// sold than there was. An update was lost when the stock at the end is not the stock at the start minus what
// was sold.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

struct Sales {
  std::vector<std::size_t> sure;  // positions of sells that returned ok
  std::int64_t sold = 0, maybe = 0;
  bool any = false;
};

std::int64_t units(const Event& event) { return event.permits == 0 ? 1 : event.permits; }

Sales count_sales(const History& history, const Pairs& pairs) {
  Sales sales;
  const auto& events = history.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].f != Function::sell) continue;
    sales.any = true;
    if (events[i].type == EventType::ok) {
      sales.sure.push_back(i);
      sales.sold += units(events[i]);
    } else if (events[i].type == EventType::invoke) {
      const std::size_t end = pairs.other[i];
      if (end == kNowhere || events[end].type == EventType::info) sales.maybe += units(events[i]);
    }
  }
  return sales;
}

Verdict lacking(std::string what) {
  Verdict verdict;
  verdict.reason = "the history has no " + std::move(what);
  return verdict;
}

class Oversell : public Check {
 public:
  std::string_view name() const override { return "oversell"; }
  std::vector<std::string_view> kinds() const override { return {"oversold"}; }
  std::string_view about() const override { return "no more units are sold than were in stock"; }
  Verdict run(const History& history, const CheckContext& context) const override {
    if (!context.initial_stock) return lacking("initial stock");
    const Sales sales = count_sales(history, pair_events(history));
    if (!sales.any) return lacking("sales");
    Verdict verdict;
    verdict.outcome = Outcome::holds;
    verdict.reason = fmt::format("{} of {} units sold", sales.sold, *context.initial_stock);
    if (sales.sold <= *context.initial_stock) {
      if (sales.sold + sales.maybe > *context.initial_stock) {
        verdict.outcome = Outcome::unknown;
        verdict.reason += fmt::format(", and {} sales whose outcome is unknown", sales.maybe);
      }
      return verdict;
    }
    const Wording words(history);
    Witness witness;
    witness.kind = "oversold";
    std::int64_t sold = 0;
    for (const std::size_t position : sales.sure) {
      witness.events.push_back(position);
      sold += units(history.events()[position]);
      if (sold > *context.initial_stock) break;
    }
    const Event& last = history.events()[witness.events.back()];
    witness.key = words.text(last.key);
    witness.from_ns = witness.to_ns = last.time_ns;
    witness.why =
        fmt::format("{} units were sold of a stock of {}; the first too many by {} at {}.", sales.sold,
                    *context.initial_stock, words.text(last.process), words.time(last.time_ns));
    verdict.outcome = Outcome::violated;
    verdict.violations = static_cast<std::uint64_t>(sales.sold - *context.initial_stock);
    verdict.reason = witness.why;
    verdict.witnesses.push_back(std::move(witness));
    return verdict;
  }
};

class LostUpdate : public Check {
 public:
  std::string_view name() const override { return "lost-update"; }
  std::vector<std::string_view> kinds() const override { return {"lost-update"}; }
  std::string_view about() const override {
    return "the stock at the end is what it was minus what was sold";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    if (!context.initial_stock) return lacking("initial stock");
    if (!context.final_stock) return lacking("final stock");
    const Sales sales = count_sales(history, pair_events(history));
    if (!sales.any) return lacking("sales");
    const std::int64_t missing = *context.initial_stock - *context.final_stock;  // taken from the stock
    Verdict verdict;
    verdict.outcome = Outcome::holds;
    verdict.reason =
        fmt::format("stock {} - {} sold = {}", *context.initial_stock, sales.sold, *context.final_stock);
    if (missing == sales.sold) return verdict;
    if (missing > sales.sold && missing <= sales.sold + sales.maybe) {
      verdict.reason += fmt::format(" with {} sales whose outcome is unknown", missing - sales.sold);
      return verdict;
    }
    Witness witness = find_pair(history, sales);
    witness.kind = "lost-update";
    witness.why = fmt::format(
        "Stock {}, {} sold, {} left: {}.{}", *context.initial_stock, sales.sold, *context.final_stock,
        missing < sales.sold ? fmt::format("{} updates are lost", sales.sold - missing)
                             : fmt::format("{} units vanished unsold", missing - sales.sold),
        witness.why);
    verdict.outcome = Outcome::violated;
    verdict.violations = static_cast<std::uint64_t>(std::abs(sales.sold - missing));
    verdict.reason = witness.why;
    verdict.witnesses.push_back(std::move(witness));
    return verdict;
  }

 private:
  // The stock only falls, so a value that is written twice was computed twice from one reading.
  static Witness find_pair(const History& history, const Sales& sales) {
    const auto& events = history.events();
    const Wording words(history);
    Witness witness;
    std::map<std::pair<Symbol, Value>, std::size_t> written;
    std::vector<std::size_t> last_read(history.symbols(), kNowhere);  // by process
    std::map<std::size_t, std::size_t> reading;                       // write -> read
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.type != EventType::ok || event.value.empty()) continue;
      if (event.f == Function::read) last_read[event.process] = i;
      if (event.f != Function::write && event.f != Function::cas) continue;
      if (last_read[event.process] != kNowhere) reading[i] = last_read[event.process];
      const auto [first, fresh] = written.try_emplace({event.key, event.value}, i);
      if (fresh) continue;
      for (const std::size_t position : {first->second, i}) {
        witness.events.push_back(position);
        if (const auto read = reading.find(position); read != reading.end())
          witness.events.push_back(read->second);
      }
      std::sort(witness.events.begin(), witness.events.end());
      witness.key = words.text(event.key);
      witness.from_ns = events[first->second].time_ns;
      witness.to_ns = event.time_ns;
      witness.why = fmt::format(" {} wrote {} at {}, {} wrote {} again at {}.",
                                words.text(events[first->second].process), history.shown(event.value),
                                words.time(witness.from_ns), words.text(event.process),
                                history.shown(event.value), words.time(witness.to_ns));
      return witness;
    }
    witness.events = sales.sure;
    if (!sales.sure.empty()) {
      witness.key = words.text(events[sales.sure.front()].key);
      witness.from_ns = events[sales.sure.front()].time_ns;
      witness.to_ns = events[sales.sure.back()].time_ns;
    }
    return witness;
  }
};

}  // namespace

const Check& oversell_check() {
  static const Oversell check;
  return check;
}
const Check& lost_update_check() {
  static const LostUpdate check;
  return check;
}

}  // namespace holdfast::checker
