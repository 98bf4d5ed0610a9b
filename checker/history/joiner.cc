#include "checker/history/joiner.h"

#include <utility>

#include "checker/history/history_jsonl.h"
#include "checker/history/packed_history.h"

namespace holdfast::checker {

// A renewal and an entry of the ledger have an invocation. What has no name here may be told by one event,
// and so may a change of permits.
Joiner::Joined Joiner::take_of_many(const Event& event, std::size_t position) {
  const Symbol name = event.f == Function::other ? event.error : 0;
  Open& open = many_[{event.process, event.f, name, event.key}];
  if (event.type == EventType::invoke) {
    if (open.only == kNowhere && open.all.empty()) {
      open.only = position;
      open.id_of_only = event.id;
      return {};
    }
    if (open.only != kNowhere) open.add(std::exchange(open.only, kNowhere), open.id_of_only);
    open.add(position, event.id);
    return {};
  }
  if (open.only != kNowhere && (event.id == 0 || open.id_of_only == event.id || open.id_of_only == 0))
    return {std::exchange(open.only, kNowhere), Problem::none};
  auto found = event.id == 0 ? open.all.begin() : open.all.end();
  if (event.id != 0) {
    for (const Symbol id : {event.id, Symbol{0}}) {
      const auto same = open.by_id.lower_bound({id, 0});
      if (found == open.all.end() && same != open.by_id.end() && same->first == id) {
        found = open.all.find(same->second);
      }
    }
  }
  if (found == open.all.end()) {
    const bool alone = event.f == Function::other || event.f == Function::resize;
    return {kNowhere, alone ? Problem::none : Problem::no_invocation};
  }
  const std::size_t invocation = found->first;
  open.by_id.erase({found->second, invocation});
  open.all.erase(found);
  return {invocation, Problem::none};
}

std::string describe(const History& names, const Event& event, const Joiner::Joined& joined,
                     const std::string& open_function, std::uint64_t open_index) {
  const auto name = [&names](const Event& of) {
    return std::string(of.f == Function::other ? names.text(of.error) : to_string(of.f));
  };
  const std::string who = "process " + std::string(names.text(event.process));
  const std::string open = open_function + " (index " + std::to_string(open_index) + ")";
  switch (joined.problem) {
    case Joiner::Problem::none: return {};
    case Joiner::Problem::busy: return who + " invokes " + name(event) + " while its " + open + " is open";
    case Joiner::Problem::no_invocation: return who + " completes " + name(event) + ", and has none open";
    case Joiner::Problem::other_function:
      return who + " completes " + name(event) + ", but what it has open is " + open;
    case Joiner::Problem::other_key:
      return who + " completes " + name(event) + " of " + std::string(names.text(event.key)) +
             ", but its open " + open + " is of another key";
    case Joiner::Problem::earlier:
      return who + " completes " + name(event) + " at an earlier time than it invoked it (index " +
             std::to_string(open_index) + ")";
    case Joiner::Problem::one_event:
      return who + (event.type == EventType::invoke ? " invokes " : " fails ") + name(event) +
             ", which is told by one event: ok or info";
  }
  return {};
}

Pairs pair_events(const History& history) {
  const auto& events = history.events();
  Pairs pairs{std::vector<std::size_t>(events.size(), kNowhere)};
  Joiner joiner(history, false);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Joiner::Joined joined = joiner.take(events[i], i);
    if (joined.problem != Joiner::Problem::none || joined.invocation == kNowhere) continue;
    pairs.other[i] = joined.invocation;
    pairs.other[joined.invocation] = i;
  }
  return pairs;
}

namespace {

// Calls misfit(position, problem) for each event that does not fit.
template <typename Misfit>
void join_all(const PackedHistory& history, const ReadHistory& read, bool by_time, Misfit&& misfit) {
  const History& strings = history.names();
  Joiner joiner(strings, by_time);
  Symbol nemesis = 0;
  for (Symbol symbol = 1; symbol < history.symbols() && nemesis == 0; ++symbol) {
    if (history.text(symbol) == "nemesis") nemesis = symbol;
  }
  const auto take = [&](const Event& event, std::size_t position) {
    if (event.process == nemesis) return;
    const Joiner::Joined joined = joiner.take(event, position);
    if (joined.problem == Joiner::Problem::none) return;
    const bool open = joined.invocation != kNowhere;
    misfit(position,
           describe(strings, event, joined,
                    open ? std::string(to_string(history.event(joined.invocation).f)) : std::string(),
                    open ? read.index_of(joined.invocation) : 0));
  };
  history.for_each(
      [&](std::size_t i, const PackedHistory::Fixed& fixed) { take(PackedHistory::plain(fixed), i); },
      [&](std::size_t i, const PackedHistory::Fixed&, const Event& event) { take(event, i); });
}

}  // namespace

void require_joined(const PackedHistory& history, const ReadHistory& read, bool by_time) {
  join_all(history, read, by_time,
           [](std::size_t position, const std::string& problem) { throw HistoryError(problem, position); });
}

void drop_misfits(PackedHistory& history, ReadHistory& read, bool by_time) {
  std::vector<std::size_t> dropped;
  join_all(history, read, by_time, [&](std::size_t position, const std::string& problem) {
    if (read.skipped++ == 0) {
      const Place place = read.place_of(position);
      read.first_skipped = std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + problem;
    }
    dropped.push_back(position);
  });
  if (dropped.empty()) return;
  read.cut_off = false;
  PackedHistory kept(history.names());
  std::vector<std::uint64_t> index;
  std::vector<std::size_t> order;
  std::size_t next = 0;
  const auto take = [&](std::size_t position, const Event& event) {
    if (next < dropped.size() && dropped[next] == position) return void(++next);
    kept.append(event);
    index.push_back(read.index_of(position));
    order.push_back(read.order.empty() ? position : read.order[position]);
  };
  history.for_each(
      [&](std::size_t i, const PackedHistory::Fixed& fixed) { take(i, PackedHistory::plain(fixed)); },
      [&](std::size_t i, const PackedHistory::Fixed&, const Event& event) { take(i, event); });
  history = std::move(kept);
  read.index = std::move(index);
  read.order = std::move(order);
}

}  // namespace holdfast::checker
