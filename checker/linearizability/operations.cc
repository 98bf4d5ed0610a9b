#include "checker/linearizability/operations.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "checker/invariant.h"
#include "checker/linearizability/extract_leases.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

class Extractor {
 public:
  // Uses the strings of `history`, not its events.
  Extractor(const History& history, const ExtractOptions& options)
      : history_(history),
        options_(options),
        joiner_(history, !options.by_position),
        slot_(history.symbols(), 0),
        next_name_(static_cast<Symbol>(history.symbols())),
        read_(find("read")),
        not_owner_(find("not-owner")),
        lost_(find("lost")) {}

  void take(const Event& event, std::size_t position) {
    if (!relevant(event.f) || position > options_.upto) return;
    if (options_.only[0] != 0 && event.process != options_.only[0] && event.process != options_.only[1])
      return;
    CHECKER_INVARIANT(event.key < slot_.size(), "events use their own history's strings");
    if (event.f == Function::queue) {
      const bool forgotten = event.type == EventType::info && HOLDFAST_PLANTED(queue_by_info_is_forgotten);
      return forgotten ? void() : queued(event, position);
    }
    const Joiner::Joined joined = joiner_.take(event, position);
    if (joined.problem != Joiner::Problem::none) fail(event, position, joined);
    if (event.type == EventType::invoke) {
      start(event, position);
    } else if (joined.invocation != kNowhere) {
      complete(event, position, joined.invocation);
    } else if (event.type == EventType::ok) {  // a change of permits, told by one event
      complete(event, position, (start(event, position), position));
    }
  }

  // A hold that ended because its client was told so, or died. `asked`: the invocation of the event that
  // ended it, if it has one.
  struct End {
    const Hold* hold;
    std::size_t asked = kNowhere;
  };
  std::vector<KeyOperations> finish(const std::vector<End>& ends) {
    for (const End& each : ends) end(*each.hold, each.asked);
    for (KeyOperations& key : result_) finish(key);
    return std::move(result_);
  }

 private:
  struct Open {
    std::size_t key = 0, operation = 0;
  };

  bool relevant(Function f) const {
    return options_.locks
               ? f == Function::acquire || f == Function::release ||
                     (options_.resizes && f == Function::resize) || (options_.queues && f == Function::queue)
               : pairing_of(f) == Pairing::resource;
  }
  Symbol find(std::string_view text) const {
    for (Symbol symbol = 1; symbol < history_.symbols(); ++symbol) {
      if (history_.text(symbol) == text) return symbol;
    }
    return 0;
  }
  std::int64_t rank(std::int64_t time_ns, std::size_t position) const {
    return options_.by_position && !HOLDFAST_PLANTED(times_rule_in_jepsen)
               ? static_cast<std::int64_t>(position)
               : time_ns;
  }
  KeyOperations& of_key(Symbol key) {
    if (slot_[key] == 0) {
      result_.push_back({key, {}});
      drop_.emplace_back();
      slot_[key] = result_.size();
    }
    return result_[slot_[key] - 1];
  }

  [[noreturn]] void fail(const Event& event, std::size_t position, const Joiner::Joined& joined) const {
    std::string open;
    if (joined.invocation != kNowhere) {
      const auto found = open_.find(joined.invocation);
      CHECKER_INVARIANT(found != open_.end(), "what is open was invoked");
      open = to_string(result_[found->second.key].operations[found->second.operation].f);
    }
    throw HistoryError(describe(history_, event, joined, open, joined.invocation), position);
  }

  void start(const Event& event, std::size_t position) {
    KeyOperations& key = of_key(event.key);
    Operation operation;
    operation.f = event.f;
    operation.unknown = true;
    operation.shared = event.mode != 0 && event.mode == read_;
    operation.permits = event.permits == 0 ? 1 : event.permits;
    operation.process = event.process;
    operation.owner = event.owner != 0 ? event.owner : event.process;
    if (options_.locks) operation.id = event.id;
    if (event.f != Function::read && event.f != Function::acquire) operation.value = event.value;
    if (event.f == Function::cas) operation.token = event.token;
    operation.call = rank(event.time_ns, position);
    operation.invoked = position;
    open_[position] = {slot_[event.key] - 1, key.operations.size()};
    if (event.f == Function::acquire) acquiring_[event.process] = position;
    key.operations.push_back(operation);
  }

  void complete(const Event& event, std::size_t position, std::size_t invocation) {
    const auto found = open_.find(invocation);
    CHECKER_INVARIANT(found != open_.end(), "what is completed is open");
    const Open open = found->second;
    open_.erase(found);
    Operation& operation = result_[open.key].operations[open.operation];
    operation.completed = position;
    if (event.owner != 0) operation.owner = event.owner;
    if (options_.locks && event.id != 0) operation.id = event.id;
    operation.shared = operation.shared || (event.mode != 0 && event.mode == read_);
    if (event.permits != 0) operation.permits = event.permits;
    if (event.type == EventType::ok) {
      operation.unknown = false;
      operation.ret = rank(event.time_ns, position);
      if (event.f == Function::read || event.f == Function::dequeue ||
          (!event.value.empty() && event.f != Function::cas && event.f != Function::acquire)) {
        operation.value = event.value;
      }
      if (event.f == Function::acquire) {
        operation.token = event.token;
      }
    } else if (event.type == EventType::fail) {
      if (options_.queues && event.f == Function::acquire && operation.queued != kAbsent) {
        operation.failed = true;
        operation.ret = rank(event.time_ns, position);
      } else if (options_.failed_release_ends && event.f == Function::release) {
        operation.whole =
            options_.one_hold && event.error != 0 && (event.error == not_owner_ || event.error == lost_);
      } else {
        if (!HOLDFAST_PLANTED(failed_acquire_may_be) || event.f != Function::acquire)
          drop_[open.key].push_back(open.operation);
      }
    }
  }

  // The client was told that the process' open acquire waits.
  void queued(const Event& event, std::size_t position) {
    const auto acquiring = acquiring_.find(event.process);
    if (acquiring == acquiring_.end()) return;
    const auto open = open_.find(acquiring->second);
    if (open == open_.end()) return;
    Operation& operation = result_[open->second.key].operations[open->second.operation];
    if (operation.queued == kAbsent) operation.queued = rank(event.time_ns, position);
  }

  void end(const Hold& hold, std::size_t asked) {
    if (slot_[hold.key] == 0) return;
    Operation release;
    release.f = Function::release;
    release.unknown = true;
    release.whole = options_.one_hold && !HOLDFAST_PLANTED(a_lost_hold_is_one_entry);
    release.shared = hold.shared;
    release.permits = hold.permits;
    release.process = next_name_++;
    release.owner = hold.owner;
    release.call = rank(hold.to_ns, hold.ended);
    release.invoked = hold.ended;
    release.completed = asked;  // so that a witness has it
    result_[slot_[hold.key] - 1].operations.push_back(release);
    ends_.insert(hold.key);
    if (HOLDFAST_PLANTED(ends_are_forgotten)) result_[slot_[hold.key] - 1].operations.pop_back();
  }

  void finish(KeyOperations& key) {
    std::vector<std::size_t>& drop = drop_[static_cast<std::size_t>(&key - result_.data())];
    for (std::size_t i = 0; i < key.operations.size(); ++i) {
      if ((key.operations[i].f == Function::read || HOLDFAST_PLANTED(unknown_never_happened)) &&
          key.operations[i].unknown)
        drop.push_back(i);
    }
    if (!drop.empty()) {
      std::sort(drop.begin(), drop.end());
      std::size_t next = 0, kept = 0;
      for (std::size_t i = 0; i < key.operations.size(); ++i) {
        while (next < drop.size() && drop[next] < i) ++next;
        if (next < drop.size() && drop[next] == i) continue;
        key.operations[kept++] = key.operations[i];
      }
      key.operations.resize(kept);
    }
    if (ends_.contains(key.key)) {
      std::stable_sort(key.operations.begin(), key.operations.end(),
                       [](const Operation& a, const Operation& b) { return a.invoked < b.invoked; });
    }
    if (options_.locks) {
      if (options_.owners && !HOLDFAST_PLANTED(foreign_releases_count))
        disown_foreign_releases(key.operations);
      begin_anew(key.operations);
      std::vector<Value*> tokens;
      for (Operation& each : key.operations) tokens.push_back(&each.token);
      if (const auto no_number = history_.rank(tokens)) key.unordered = *no_number;
    }
    if (options_.queues) key.operations = split_queued(key.operations);
  }

  // A release that names an acquisition which its owner never made gives back nothing: a success is that of
  // nobody, anything else did not happen. An owner whose acquire has no id, or an unknown outcome, may have
  // made any.
  void disown_foreign_releases(std::vector<Operation>& operations) {
    const auto is_foreign = [&](const Operation& each, const std::vector<std::uint64_t>& made) {
      if (each.f != Function::release || each.id == 0) return false;
      const std::uint64_t owner = std::uint64_t{each.owner} << 32;
      return !std::binary_search(made.begin(), made.end(), owner | each.id) &&
             !std::binary_search(made.begin(), made.end(), owner);
    };
    std::vector<std::uint64_t> made;  // owner and id; id 0: any
    for (const Operation& each : operations) {
      if (each.f == Function::acquire && (!each.failed || HOLDFAST_PLANTED(a_failed_wait_makes_any)))
        made.push_back((std::uint64_t{each.owner} << 32) | (each.unknown ? 0 : each.id));
    }
    std::sort(made.begin(), made.end());
    for (Operation& each : operations) {
      if (!each.unknown && is_foreign(each, made)) each.owner = next_name_++;
    }
    std::erase_if(operations, [&](const Operation& each) { return each.unknown && is_foreign(each, made); });
  }

  // What an owner acquires after its holds were ended as a whole is another owner's: that ending cannot reach
  // it. Its releases belong to what it acquired last.
  void begin_anew(std::vector<Operation>& operations) {
    struct Name {
      Symbol now = 0;
      bool over = false;
    };
    std::map<Symbol, Name> names;  // by owner; only of those whose holds were ended
    for (Operation& each : operations) {
      auto name = names.find(each.owner);
      if (each.whole && name == names.end()) name = names.emplace(each.owner, Name{each.owner, false}).first;
      if (name == names.end()) continue;
      const bool anew = each.f == Function::acquire && !each.failed && name->second.over;
      if (anew && !HOLDFAST_PLANTED(owners_do_not_begin_anew)) name->second = {next_name_++, false};
      each.owner = name->second.now;
      if (each.whole) name->second.over = true;
    }
  }

  const History& history_;
  const ExtractOptions options_;
  Joiner joiner_;
  std::unordered_map<std::size_t, Open> open_;         // by the position of the invocation; only looked up
  std::unordered_map<Symbol, std::size_t> acquiring_;  // by process: its last acquire; only looked up
  std::vector<std::size_t> slot_;                      // by key: 1 + index into result_
  std::vector<KeyOperations> result_;
  std::vector<std::vector<std::size_t>> drop_;  // by key slot
  std::set<Symbol> ends_;                       // keys with releases that end a hold as a whole
  Symbol next_name_;                            // of owners and processes that the history does not name
  const Symbol read_, not_owner_, lost_;
};

// An event that may end holds without their release.
bool ends_holds(const Event& event, const ExtractOptions& options) {
  if (!options.locks || (options.by_position && HOLDFAST_PLANTED(ends_of_jepsen_are_forgotten))) return false;
  return event.f == Function::lost || event.f == Function::crash ||
         (options.sessions && options.by_position && event.type == EventType::info);
}

// Jepsen's formats: a process that completes by `info` is over.
History with_crashes(const History& history) {
  History changed = history.names();
  const Symbol nemesis = changed.intern("nemesis");
  for (Event event : history.events()) {
    if (event.type == EventType::info && event.process != nemesis && event.f != Function::lost) {
      event.f = Function::crash;
    }
    changed.append(event);
  }
  return changed;
}

std::vector<KeyOperations> finished(Extractor& extractor, const History& history,
                                    const ExtractOptions& options) {
  const bool by_info = options.sessions && options.by_position && !HOLDFAST_PLANTED(unknown_ends_no_session);
  const std::vector<Hold> holds =
      find_holds(by_info ? with_crashes(history) : history, pair_events(history),
                 {.reentrant = options.reentrant, .failed_release_ends = options.failed_release_ends})
          .holds;
  const Pairs asked = by_info ? pair_events(history) : Pairs{};
  std::vector<Extractor::End> ends;
  for (const Hold& hold : holds) {
    if (hold.end != HoldEnd::told_lost && hold.end != HoldEnd::crashed) continue;
    ends.push_back({&hold, by_info ? asked.other[hold.ended] : kNowhere});
  }
  return extractor.finish(ends);
}

// Owners and processes of a key become 1, 2, ... where the history has far more than the key: an engine keeps
// tables of them. O(n log n) in the operations of the key.
void number_names_anew(std::vector<Operation>& operations) {
  Symbol most = 0;
  for (const Operation& each : operations) most = std::max({most, each.owner, each.process});
  if (most <= 16 * operations.size()) return;
  std::vector<Symbol> names;
  for (const Operation& each : operations) {
    names.push_back(each.owner);
    names.push_back(each.process);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto number = [&](Symbol name) {
    return static_cast<Symbol>(std::lower_bound(names.begin(), names.end(), name) - names.begin() + 1);
  };
  for (Operation& each : operations) {
    each.owner = number(each.owner);
    each.process = number(each.process);
  }
}

void each_event(const History& history, const auto& take) {
  for (std::size_t i = 0; i < history.events().size(); ++i) take(i, history.events()[i]);
}
void each_event(const PackedHistory& history, const auto& take) {
  history.for_each(
      [&](std::size_t i, const PackedHistory::Fixed& core) { take(i, PackedHistory::plain(core)); },
      [&](std::size_t i, const PackedHistory::Fixed&, const Event& event) { take(i, event); });
}
const History& names_of(const History& history) { return history; }
const History& names_of(const PackedHistory& history) { return history.names(); }
const History& unpacked(const History& history) { return history; }
History unpacked(const PackedHistory& history) { return history.unpack(); }

std::vector<KeyOperations> extract(const auto& history, const ExtractOptions& options) {
  if (options.leased) return extract_leases(unpacked(history), options);
  Extractor extractor(names_of(history), options);
  bool ends = false;
  each_event(history, [&](std::size_t i, const Event& event) {
    extractor.take(event, i);
    ends = ends || ends_holds(event, options);
  });
  return ends ? finished(extractor, unpacked(history), options) : extractor.finish({});
}

std::vector<KeyOperations> numbered(std::vector<KeyOperations> keys) {
  for (KeyOperations& key : keys) number_names_anew(key.operations);
  return keys;
}

}  // namespace

std::vector<KeyOperations> extract_operations(const History& history, const ExtractOptions& options) {
  return numbered(extract(history, options));
}
std::vector<KeyOperations> extract_operations(const PackedHistory& history, const ExtractOptions& options) {
  return numbered(extract(history, options));
}

Symbol most_owner(const std::vector<Operation>& operations) {
  Symbol most = 0;
  for (const Operation& each : operations) most = std::max(most, each.owner);
  return most;
}

ProcessOrder process_order(const std::vector<Operation>& operations) {
  ProcessOrder order{std::vector<std::size_t>(operations.size(), kNowhere),
                     std::vector<bool>(operations.size(), false)};
  Symbol most = 0;
  for (const Operation& each : operations) most = std::max(most, each.process);
  std::vector<std::size_t> last(std::size_t{most} + 1, kNowhere);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::size_t before = last[operations[i].process];
    if (before != kNowhere && operations[before].ret == operations[i].call) order.awaited[before] = true;
    order.previous[i] = HOLDFAST_PLANTED(processes_have_no_order) ? kNowhere : before;
    if (!operations[i].unknown) last[operations[i].process] = i;
  }
  return order;
}

std::vector<Endpoint> endpoints_of(const std::vector<Operation>& operations) {
  std::vector<Endpoint> endpoints;
  endpoints.reserve(operations.size() * 2);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const bool ordered = HOLDFAST_PLANTED(ties_are_ordered);
    const std::int64_t call = ordered ? 2 * operations[i].call + 1 : operations[i].call;
    endpoints.push_back({call, false, i});
    if (operations[i].unknown) continue;
    endpoints.push_back({ordered ? std::max(2 * operations[i].ret, call) : operations[i].ret, true, i});
  }
  std::stable_sort(endpoints.begin(), endpoints.end(), [](const Endpoint& a, const Endpoint& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.returns < b.returns;
  });
  return endpoints;
}

std::vector<Operation> split_queued(const std::vector<Operation>& operations) {
  std::vector<Operation> split;
  for (const Operation& each : operations) {
    if (each.f != Function::acquire) {
      split.push_back(each);
      continue;
    }
    Operation queue = each, grant = each, leave = each;
    queue.f = Function::queue;
    leave.f = Function::lost;
    const bool told = each.queued != kAbsent;
    for (Operation* part : {&queue, &grant, &leave}) {
      part->queued = kAbsent;
      part->token = {};
    }
    queue.ret = told ? std::min(each.queued, each.ret) : each.ret;
    queue.unknown = each.unknown && !told;
    queue.failed = grant.failed = leave.failed = false;
    grant.token = each.token;
    if (told) grant.call = queue.ret;
    split.push_back(queue);
    if (each.failed) {
      leave.unknown = false;
      split.push_back(leave);
    } else {
      split.push_back(grant);
      if (each.unknown) split.push_back(leave);
    }
  }
  // By call; the parts of one acquire keep their order.
  std::stable_sort(split.begin(), split.end(),
                   [](const Operation& a, const Operation& b) { return a.call < b.call; });
  return split;
}

}  // namespace holdfast::checker
