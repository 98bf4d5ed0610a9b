#include "checker/holds/holds.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "checker/history/huge_pages.h"
#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

std::string_view client_of(std::string_view process) { return process.substr(0, process.find('/')); }

namespace {

class Builder {
 public:
  Builder(const History& history, const Pairs& pairs, const HoldOptions& options)
      : history_(history),
        pairs_(pairs),
        options_(options),
        open_(history.symbols()),
        client_(history.symbols(), kNowhere) {}

  Holds build() {
    reserve();
    const auto& events = history_.events();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      fetch_answer(i + 16);
      switch (event.f) {
        case Function::acquire:
          if (event.type == EventType::invoke) asked(event, i);
          if (event.type == EventType::ok) acquired(event, i);
          break;
        case Function::release:
          if (event.type == EventType::invoke) release_invoked(event, i);
          if (event.type == EventType::ok) released(event, i);
          break;
        case Function::renew:
          if (event.type == EventType::ok && !HOLDFAST_PLANTED(renewals_ignored)) renewed(event, i);
          break;
        case Function::lost:
          if (HOLDFAST_PLANTED(loss_ends_everything)) crashed(event, i);
          for (const std::size_t at : find_of_client(event))
            if (at != kNowhere) end(at, i, HoldEnd::told_lost);
          break;
        case Function::crash:
          if (!HOLDFAST_PLANTED(crash_ends_nothing)) crashed(event, i);
          break;
        default: break;
      }
    }
    return std::move(result_);
  }

 private:
  std::vector<Hold>& holds() { return result_.holds; }
  const std::vector<Hold>& holds() const { return result_.holds; }

  // The answer to an invocation stands far behind it where many wait, and asking for it would stall.
  void fetch_answer(std::size_t position) const {
    if (position >= pairs_.other.size() || pairs_.other[position] == kNowhere) return;
    const Event& answer = history_.events()[pairs_.other[position]];
    __builtin_prefetch(&answer);
    __builtin_prefetch(&answer.type);
  }
  // As many as there are grants. Growing would copy holds, and touch fresh memory each time.
  void reserve() {
    const auto grants = static_cast<std::size_t>(std::count_if(
        history_.events().begin(), history_.events().end(),
        [](const Event& event) { return event.f == Function::acquire && event.type == EventType::ok; }));
    reserve_huge(holds(), grants);
    place_.reserve(grants);
    depth_.reserve(grants);
    writer_.reserve(grants);
  }

  // An invocation may lack what its completion names, and the other way round.
  Symbol said(const Event& event, std::size_t position, Symbol Event::*field) const {
    const std::size_t other = pairs_.other[position];
    return event.*field != 0 || other == kNowhere ? event.*field : history_.events()[other].*field;
  }
  Symbol owner_of(const Event& event, std::size_t position) const {
    const Symbol owner = said(event, position, &Event::owner);
    return owner != 0 && !HOLDFAST_PLANTED(owner_is_the_process) ? owner : event.process;
  }
  Symbol key_of(const Event& event, std::size_t position) const {
    return HOLDFAST_PLANTED(answer_without_key_is_of_none) ? event.key : said(event, position, &Event::key);
  }
  std::uint32_t permits_of(const Event& event, std::size_t position) const {
    if (HOLDFAST_PLANTED(permits_count_as_one)) return 1;
    return std::max<std::uint32_t>(HOLDFAST_PLANTED(permits_of_the_answer_alone)
                                       ? event.permits
                                       : said(event, position, &Event::permits),
                                   1);
  }
  bool is_shared(Symbol mode) const {
    return history_.text(mode) == "read" && !HOLDFAST_PLANTED(mode_ignored);
  }
  // The number of the client that a process belongs to.
  std::size_t client_number(Symbol process) {
    std::size_t& known = client_[process];
    if (known == kNowhere) {
      known = clients_.try_emplace(client_of(history_.text(process)), clients_.size()).first->second;
    }
    return known;
  }

  // The newest open hold of `owner` on `key`: that of the acquisition, if one is named; of the mode, if the
  // owner has several; kNowhere: there is none.
  std::size_t find(Symbol key, Symbol owner, Symbol id, bool shared) const {
    std::size_t found = kNowhere;
    const auto& open = open_[key];
    for (auto at = open.rbegin(); at != open.rend(); ++at) {
      const Hold& hold = holds()[*at];
      const bool other =
          hold.owner != owner && !(HOLDFAST_PLANTED(id_reaches_another_owner) && id != 0 && hold.id == id);
      if (other || (id != 0 && hold.id != 0 && hold.id != id)) continue;
      if (hold.shared == shared) return *at;
      if (found == kNowhere) found = *at;
    }
    return found;
  }
  // A renewal or a loss comes from another process of the client, and may lack the owner. Who reads while it
  // writes has two holds; kNowhere: none, or no second one.
  std::array<std::size_t, 2> find_of_client(const Event& event) {
    const auto& open = open_[event.key];
    const std::size_t client = client_number(event.process);
    for (auto at = open.rbegin(); at != open.rend(); ++at) {
      const Hold& hold = holds()[*at];
      if (!HOLDFAST_PLANTED(loss_ignores_the_id) && event.id != 0 && hold.id != 0 && hold.id != event.id)
        continue;
      if (event.owner != 0 ? hold.owner == event.owner : client_number(hold.process) == client)
        return with_its_writer(*at, event.id);
    }
    return {kNowhere, kNowhere};
  }
  // The open hold at `at`, and that of the writer who reads there, if both are of that acquisition.
  std::array<std::size_t, 2> with_its_writer(std::size_t at, Symbol id) const {
    const std::size_t writer = writer_[at];
    const bool both = writer != kNowhere && holds()[writer].ended == kNowhere && are_of(id, at, writer);
    return {at, both ? writer : kNowhere};
  }
  bool are_of(Symbol id, std::size_t reads, std::size_t writes) const {
    return id != 0 && holds()[reads].id == id && holds()[writes].id == id &&
           !HOLDFAST_PLANTED(who_reads_writes_no_more);
  }

  void end(std::size_t at, std::size_t position, HoldEnd how) {
    Hold& hold = holds()[at];
    hold.ended = position;
    hold.to_ns = std::max(hold.from_ns, history_.events()[position].time_ns);
    hold.end = how;
    auto& open = open_[hold.key];
    const auto place = std::find(open.begin(), open.end(), at);
    CHECKER_INVARIANT(place != open.end(), "a hold that ends is open");
    open.erase(place);
    std::vector<std::size_t>& same = of_client_[client_number(hold.process)];
    same[place_[at]] = same.back();
    place_[same.back()] = place_[at];
    same.pop_back();
  }

  void open(Hold hold, std::uint32_t depth, std::size_t writer = kNowhere) {
    const std::size_t at = holds().size();
    open_[hold.key].push_back(at);
    const std::size_t client = client_number(hold.process);
    if (of_client_.size() <= client) of_client_.resize(client + 1);
    place_.push_back(of_client_[client].size());
    of_client_[client].push_back(at);
    holds().push_back(std::move(hold));
    depth_.push_back(depth);
    writer_.push_back(writer);
  }

  static void promise(Hold& hold, const Event& event, std::size_t position) {
    if (event.valid_until_ns == kAbsent || hold.valid_until_ns == kAbsent) return;
    if (HOLDFAST_PLANTED(renewal_at_the_end_is_late) && event.time_ns == hold.valid_until_ns) return;
    if (event.time_ns > hold.valid_until_ns && !HOLDFAST_PLANTED(late_renewal_revives))
      return;  // a late renewal does not revive the hold
    if (event.valid_until_ns <= hold.valid_until_ns && !HOLDFAST_PLANTED(renewal_may_shorten)) return;
    hold.valid_until_ns = event.valid_until_ns;
    hold.renewals.push_back(position);
  }

  // An acquire that does not certainly fail may have taken something.
  void asked(const Event& event, std::size_t position) {
    const std::size_t end = pairs_.other[position];
    if (end != kNowhere && history_.events()[end].type == EventType::fail) return;
    if (HOLDFAST_PLANTED(unknown_acquire_takes_nothing) &&
        (end == kNowhere || history_.events()[end].type == EventType::info))
      return;
    const std::size_t granted = end == kNowhere ? position : end;
    asked_[{key_of(event, position), owner_of(event, position)}] +=
        permits_of(history_.events()[granted], granted);
  }

  void acquired(const Event& event, std::size_t position) {
    const Symbol key = key_of(event, position), owner = owner_of(event, position);
    if (pairs_.other[position] == kNowhere) asked_[{key, owner}] += permits_of(event, position);
    const Symbol mode = HOLDFAST_PLANTED(mode_of_the_answer_alone) ? event.mode
                                                                   : said(event, position, &Event::mode),
                 id = said(event, position, &Event::id);
    const bool shared = is_shared(mode);
    const std::size_t held = options_.reentrant || shared ? find(key, owner, id, shared) : kNowhere;
    if (options_.reentrant && held != kNowhere && holds()[held].shared == shared) {
      ++depth_[held];
      return promise(holds()[held], event, position);
    }
    Hold hold;
    hold.invoked = pairs_.other[position];
    hold.acquired = position;
    hold.invoked_ns = hold.invoked == kNowhere ? event.time_ns : history_.events()[hold.invoked].time_ns;
    hold.from_ns = HOLDFAST_PLANTED(hold_begins_when_asked) ? hold.invoked_ns : event.time_ns;
    hold.valid_until_ns = hold.granted_until_ns = event.valid_until_ns;
    hold.key = key;
    hold.id = id;
    hold.owner = owner;
    hold.process = event.process;
    hold.client = client_of(history_.text(event.process));
    hold.mode = mode;
    hold.shared = shared;
    hold.node = event.node;
    hold.token = event.token;
    hold.permits = permits_of(event, position);
    const bool writes = shared && held != kNowhere && !holds()[held].shared;
    if (writes) hold.writer = holds()[held].acquired;
    open(std::move(hold), 1, writes ? held : kNowhere);
  }

  void release_invoked(const Event& event, std::size_t position) {
    const std::size_t completion = pairs_.other[position];
    const Event* const answer = completion == kNowhere ? nullptr : &history_.events()[completion];
    const Symbol key = key_of(event, position), owner = owner_of(event, position);
    const bool shared = is_shared(said(event, position, &Event::mode));
    std::size_t at = find(key, owner, said(event, position, &Event::id), shared);
    if (at == kNowhere) unmatched_.insert(position);
    const bool failed = answer != nullptr && answer->type == EventType::fail;
    if (failed && (!options_.failed_release_ends || history_.jepsen()) &&
        !HOLDFAST_PLANTED(failed_release_of_jepsen_ends))
      return;
    if (failed && HOLDFAST_PLANTED(failed_release_ends_nothing)) return;
    if (failed && says_lost(*answer) && !HOLDFAST_PLANTED(not_owner_ends_one_entry)) {
      if (at != kNowhere) end_acquisition(at, said(event, position, &Event::id), position);
      return;
    }
    // A release of several permits may end several holds, or a part of one.
    for (std::uint32_t left = permits_of(event, position); left > 0 && at != kNowhere;
         at = find(key, owner, 0, shared)) {
      Hold& hold = holds()[at];
      if (hold.permits > left && !HOLDFAST_PLANTED(a_part_ends_the_whole)) {
        Hold rest = hold;
        rest.permits -= left;
        rest.from_ns = std::max(hold.from_ns, event.time_ns);
        end(at, position, HoldEnd::released);
        return open(std::move(rest), 1);
      }
      left -= hold.permits;
      const bool late = HOLDFAST_PLANTED(release_ends_with_its_answer) && completion != kNowhere;
      if (--depth_[at] == 0 || HOLDFAST_PLANTED(entries_are_not_counted))
        end(at, late ? completion : position, HoldEnd::released);
    }
  }
  void end_acquisition(std::size_t at, Symbol id, std::size_t position) {
    const std::vector<std::size_t> open = open_[holds()[at].key];
    for (const std::size_t other : open) {
      const bool reads = writer_[other] == at && are_of(id, other, at);
      const bool writes = writer_[at] == other && are_of(id, at, other);
      if (other == at || reads || writes) end(other, position, HoldEnd::released);
    }
  }
  bool says_lost(const Event& answer) const {
    const std::string_view error = history_.text(answer.error);
    return error == "not-owner" || error == "lost";
  }

  // The release names an acquisition that its owner never made. Who has an acquire without id, or of unknown
  // outcome, may have made any. Asked seldom: most releases find the hold that they name.
  bool is_foreign(Symbol key, Symbol owner, Symbol id) {
    if (made_.empty()) {
      const auto& events = history_.events();
      for (std::size_t i = 0; i < events.size(); ++i) {
        const bool told_later = events[i].type == EventType::invoke && pairs_.other[i] != kNowhere;
        if (events[i].f != Function::acquire || told_later || events[i].type == EventType::fail) continue;
        const Symbol named = events[i].type == EventType::ok ? said(events[i], i, &Event::id) : 0;
        made_.push_back({key_of(events[i], i), owner_of(events[i], i), named});
      }
      std::sort(made_.begin(), made_.end());
    }
    const auto made = [&](Symbol which) {
      return std::binary_search(made_.begin(), made_.end(), std::array{key, owner, which});
    };
    return !made(id) && !made(0);
  }

  void released(const Event& event, std::size_t position) {
    const Symbol key = key_of(event, position), owner = owner_of(event, position);
    const Symbol id = said(event, position, &Event::id);
    const std::size_t invocation = pairs_.other[position];
    const bool found = invocation != kNowhere && unmatched_.erase(invocation) == 0;
    if (id != 0 && !found && is_foreign(key, owner, id)) return result_.unheld.push_back(position);
    std::int64_t& asked = asked_[{key, owner}];
    const std::int64_t permits = permits_of(event, position);
    if (asked < permits && !HOLDFAST_PLANTED(release_without_hold_passes)) {
      result_.unheld.push_back(position);
    } else {
      asked -= permits;
    }
  }

  void renewed(const Event& event, std::size_t position) {
    for (const std::size_t at : find_of_client(event))
      if (at != kNowhere) promise(holds()[at], event, position);
  }

  void crashed(const Event& event, std::size_t position) {
    const std::size_t client = client_number(event.process);
    if (client >= of_client_.size()) return;
    std::vector<std::size_t> dead = of_client_[client];
    std::sort(dead.begin(), dead.end());
    for (const std::size_t at : dead)
      if (!HOLDFAST_PLANTED(crash_ends_one_thread) || holds()[at].process == event.process)
        end(at, position, HoldEnd::crashed);
  }

  const History& history_;
  const Pairs& pairs_;
  const HoldOptions options_;
  std::vector<std::vector<std::size_t>> open_;               // by key: indices of open holds, oldest first
  std::vector<std::size_t> client_;                          // by process: its client's number
  std::map<std::string_view, std::size_t> clients_;          // by name: the number
  std::vector<std::vector<std::size_t>> of_client_;          // by client: indices of open holds
  std::vector<std::size_t> place_;                           // by hold: its place there
  std::map<std::pair<Symbol, Symbol>, std::int64_t> asked_;  // by key and owner: permits to be released
  std::set<std::size_t> unmatched_;  // invocations of releases that found no hold, until answered
  std::vector<std::array<Symbol, 3>>
      made_;  // key, owner and id of all acquires, sorted; empty: not asked for
  Holds result_;
  std::vector<std::uint32_t> depth_;  // by hold
  std::vector<std::size_t> writer_;   // by hold: index of the writer's, of whom it continues the acquisition
};

}  // namespace

std::string doubted_unit(const History& history, const std::vector<Hold>& holds) {
  const auto& events = history.events();
  if (events.empty()) return {};
  const std::int64_t begin = events.front().time_ns, end = events.back().time_ns, span = end - begin;
  struct Unit {
    std::int64_t factor;
    std::string_view name;
    std::size_t within = 0;
  };
  std::array<Unit, 3> units = {
      {{1'000'000, "milliseconds"}, {1'000, "microseconds"}, {1'000'000'000, "seconds"}}};
  constexpr std::int64_t kHour = std::int64_t{3'600} * 1'000'000'000;
  std::size_t claims = 0, over = 0, far = 0, normal = 0;
  for (const Hold& hold : holds) {
    if (hold.granted_until_ns == kAbsent || hold.granted_until_ns >= kMostTime) continue;
    ++claims;
    const std::int64_t until = hold.granted_until_ns;
    if (until <= hold.from_ns) {
      ++over;
    } else if (until > end + std::max<std::int64_t>(span, 1) * 1000 + std::int64_t{86'400} * 1'000'000'000) {
      ++far;
    } else {
      ++normal;
    }
    for (Unit& unit : units) {
      if (until > kMostTime / unit.factor || until < -kMostTime / unit.factor) continue;
      const std::int64_t scaled = until * unit.factor;
      if (scaled > hold.from_ns && scaled - end <= std::max(span, kHour)) ++unit.within;
    }
  }
  if (claims == 0 || normal > 0) return {};
  if (far == claims) {
    return "every valid_until lies far beyond the history's end: it is of another unit or clock than `time`, "
           "expected nanoseconds of one clock";
  }
  if (over < claims) return {};
  for (const Unit& unit : units) {
    if (unit.within * 10 < claims * 9) continue;
    return "every valid_until is over at its grant, and would not be if it counted " +
           std::string(unit.name) + ": expected nanoseconds of the clock of `time`";
  }
  if (std::all_of(holds.begin(), holds.end(),
                  [&](const Hold& hold) { return hold.granted_until_ns < begin; })) {
    return "every valid_until lies before the history's first event: it is of another clock than `time`, "
           "expected "
           "nanoseconds of one clock";
  }
  return {};
}

Holds find_holds(const History& history, const Pairs& pairs, const HoldOptions& options) {
  return Builder(history, pairs, options).build();
}

std::map<Symbol, Doing> last_doings(const History& history) {
  std::map<Symbol, Doing> doings;
  const std::vector<Event>& events = history.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    switch (event.f) {
      case Function::renew:
      case Function::lost:
      case Function::store_grant:
      case Function::store_remove:
      case Function::store_extend:
      case Function::fault:
      case Function::effect:
      case Function::mark:
      case Function::crash:
      case Function::resize: continue;
      default: break;
    }
    if (event.id == 0) continue;
    doings[event.id] = {i, event.f == Function::other && history.text(event.error) == kLeft};
  }
  return doings;
}

}  // namespace holdfast::checker
