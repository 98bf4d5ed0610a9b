#include "checker/linearizability/operations.h"

#include <algorithm>

#include "checker/invariant.h"

namespace holdfast::checker {

namespace {

// Throws where a completion has an earlier time than its invocation.
void require_order(const History& history, std::int64_t invoked_ns, std::size_t invoked,
                   const Event& completion, std::size_t completed) {
  if (completion.time_ns >= invoked_ns) return;
  throw HistoryError("process " + std::string(history.text(completion.process)) + " completes " +
                         std::string(to_string(completion.f)) + " at event " + std::to_string(completed) +
                         ", at an earlier time than its invocation, event " + std::to_string(invoked),
                     completed);
}

class Extractor {
 public:
  // Uses the strings of `history`, not its events.
  Extractor(const History& history, const ExtractOptions& options)
      : history_(history),
        options_(options),
        open_(history.symbols(), OpenOperation{}),
        slot_(history.symbols(), 0),
        read_(find("read")),
        not_owner_(find("not-owner")),
        lost_(find("lost")) {}

  void take(const Event& event, std::size_t position) {
    if (!relevant(event.f) || position > options_.upto) return;
    if (options_.only[0] != 0 && event.process != options_.only[0] && event.process != options_.only[1])
      return;
    CHECKER_INVARIANT(event.process < open_.size() && event.key < slot_.size(),
                      "events use their own history's strings");
    if (event.f == Function::queue) {
      if (event.type == EventType::ok) queued(event, position);
    } else if (event.type == EventType::invoke) {
      invoke(event, position);
    } else {
      complete(event, position);
    }
  }
  std::vector<KeyOperations> finish() {
    for (KeyOperations& key : result_) finish(key);
    return std::move(result_);
  }

 private:
  struct OpenOperation {
    std::size_t key = 0, operation = kNowhere;
  };

  bool relevant(Function f) const {
    return options_.locks
               ? f == Function::acquire || f == Function::release ||
                     (options_.resizes && f == Function::resize) || (options_.queues && f == Function::queue)
               : f == Function::read || f == Function::write || f == Function::cas;
  }
  Symbol find(std::string_view text) const {
    for (Symbol symbol = 1; symbol < history_.symbols(); ++symbol) {
      if (history_.text(symbol) == text) return symbol;
    }
    return 0;
  }
  std::int64_t rank(const Event& event, std::size_t position) const {
    return options_.by_position ? static_cast<std::int64_t>(position) : event.time_ns;
  }
  KeyOperations& of_key(Symbol key) {
    if (slot_[key] == 0) {
      result_.push_back({key, {}});
      drop_.emplace_back();
      slot_[key] = result_.size();
    }
    return result_[slot_[key] - 1];
  }

  void invoke(const Event& event, std::size_t position) {
    OpenOperation& open = open_[event.process];
    if (open.operation != kNowhere) {
      const Operation& before = result_[open.key].operations[open.operation];
      throw HistoryError("process " + std::string(history_.text(event.process)) + " invokes " +
                             std::string(to_string(event.f)) + " at event " + std::to_string(position) +
                             " while its " + std::string(to_string(before.f)) + " of event " +
                             std::to_string(before.invoked) + " is open",
                         position);
    }
    start(event, position);
  }

  Operation& start(const Event& event, std::size_t position) {
    KeyOperations& key = of_key(event.key);
    Operation operation;
    operation.f = event.f;
    operation.unknown = true;
    operation.shared = event.mode != 0 && event.mode == read_;
    operation.permits = event.permits == 0 ? 1 : event.permits;
    operation.process = event.process;
    operation.owner = event.owner != 0 ? event.owner : event.process;
    operation.value = event.f == Function::read || event.f == Function::acquire ? kAbsent : event.value;
    operation.token = event.f == Function::cas ? event.token : kAbsent;
    operation.call = rank(event, position);
    operation.invoked = position;
    open_[event.process] = {slot_[event.key] - 1, key.operations.size()};
    key.operations.push_back(operation);
    return key.operations.back();
  }

  void complete(const Event& event, std::size_t position) {
    OpenOperation& open = open_[event.process];
    // A completion may lack the key: it is that of the open operation.
    if (open.operation == kNowhere) {
      if (event.type != EventType::ok) return;
      start(event, position);  // without an invocation it takes no time
    }
    Operation& operation = result_[open.key].operations[open.operation];
    if (operation.f != event.f) {
      throw HistoryError("process " + std::string(history_.text(event.process)) + " completes " +
                             std::string(to_string(event.f)) + " at event " + std::to_string(position) +
                             ", but its open operation is " + std::string(to_string(operation.f)),
                         position);
    }
    if (!options_.by_position) require_order(history_, operation.call, operation.invoked, event, position);
    operation.completed = position;
    if (event.type == EventType::ok) {
      operation.unknown = false;
      operation.ret = rank(event, position);
      if (event.f == Function::read ||
          (event.value != kAbsent && event.f != Function::cas && event.f != Function::acquire)) {
        operation.value = event.value;
      }
      if (event.f == Function::acquire) {
        operation.token = event.token;
        operation.shared = operation.shared || (event.mode != 0 && event.mode == read_);
        if (event.permits != 0) operation.permits = event.permits;
      }
      if (event.owner != 0) operation.owner = event.owner;
    } else if (event.type == EventType::fail) {
      const bool ends = options_.failed_release_ends && event.f == Function::release && event.error != 0 &&
                        (event.error == not_owner_ || event.error == lost_);
      if (options_.queues && event.f == Function::acquire && operation.value != kAbsent) {
        operation.failed = true;
        operation.ret = rank(event, position);
      } else if (!ends) {
        drop_[open.key].push_back(open.operation);
      }
    }
    open = OpenOperation{};
  }

  // The client was told that the process' open acquire waits.
  void queued(const Event& event, std::size_t position) {
    const OpenOperation& open = open_[event.process];
    if (open.operation == kNowhere) return;
    Operation& operation = result_[open.key].operations[open.operation];
    if (operation.f == Function::acquire && operation.value == kAbsent)
      operation.value = rank(event, position);
  }

  void finish(KeyOperations& key) {
    std::vector<std::size_t>& drop = drop_[static_cast<std::size_t>(&key - result_.data())];
    for (std::size_t i = 0; i < key.operations.size(); ++i) {
      if (key.operations[i].f == Function::read && key.operations[i].unknown) drop.push_back(i);
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
    if (options_.queues) key.operations = split_queued(key.operations);
  }

  const History& history_;
  const ExtractOptions options_;
  std::vector<OpenOperation> open_;  // by process
  std::vector<std::size_t> slot_;    // by key: 1 + index into result_
  std::vector<KeyOperations> result_;
  std::vector<std::vector<std::size_t>> drop_;  // by key slot
  const Symbol read_, not_owner_, lost_;
};

// Each hold becomes an acquire, and a release of unknown outcome: it takes effect at any time from the end of
// the claim on, or never.
std::vector<KeyOperations> extract_leases(const History& history) {
  std::vector<KeyOperations> result;
  std::vector<std::size_t> slot(history.symbols(), 0);
  const auto& events = history.events();
  for (const Hold& hold : build_holds(history, true)) {
    if (slot[hold.key] == 0) {
      result.push_back({hold.key, {}});
      slot[hold.key] = result.size();
    }
    Operation acquire;
    acquire.f = Function::acquire;
    acquire.shared = hold.shared;
    acquire.permits = hold.permits;
    // An owner and a process of its own, so that no hold constrains another one's order.
    acquire.process = acquire.owner = static_cast<Symbol>(result[slot[hold.key] - 1].operations.size() + 1);
    acquire.token = hold.token;
    acquire.invoked = hold.invoked == kNowhere ? hold.acquired : hold.invoked;
    acquire.completed = hold.acquired;
    acquire.call = events[acquire.invoked].time_ns;
    require_order(history, acquire.call, acquire.invoked, events[hold.acquired], hold.acquired);
    acquire.ret = hold.from_ns;
    Operation release = acquire;
    release.f = Function::release;
    release.unknown = true;
    release.call = std::max(hold.from_ns, hold.has_claim() ? hold.claim_to_ns() : hold.to_ns);
    release.ret = kForever;
    release.completed = hold.ended == kNowhere ? hold.acquired : hold.ended;
    auto& operations = result[slot[hold.key] - 1].operations;
    operations.push_back(acquire);
    if (release.call != kForever) operations.push_back(release);
  }
  return result;
}

}  // namespace

std::vector<KeyOperations> extract_operations(const History& history, const ExtractOptions& options) {
  if (options.leased) return extract_leases(history);
  Extractor extractor(history, options);
  for (std::size_t i = 0; i < history.events().size(); ++i) extractor.take(history.events()[i], i);
  return extractor.finish();
}

std::vector<KeyOperations> extract_operations(const PackedHistory& history, const ExtractOptions& options) {
  if (options.leased) return extract_leases(history.unpack());
  Extractor extractor(history.names(), options);
  history.for_each(
      [&](std::size_t i, const PackedHistory::Fixed& core) { extractor.take(PackedHistory::plain(core), i); },
      [&](std::size_t i, const PackedHistory::Fixed&, const Event& event) { extractor.take(event, i); });
  return extractor.finish();
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
    order.previous[i] = before;
    if (!operations[i].unknown) last[operations[i].process] = i;
  }
  return order;
}

std::vector<Endpoint> endpoints_of(const std::vector<Operation>& operations) {
  std::vector<Endpoint> endpoints;
  endpoints.reserve(operations.size() * 2);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    endpoints.push_back({operations[i].call, false, i});
    if (!operations[i].unknown) endpoints.push_back({operations[i].ret, true, i});
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
    const bool told = each.value != kAbsent;
    for (Operation* part : {&queue, &grant, &leave}) part->value = part->token = kAbsent;
    queue.ret = told ? std::min(each.value, each.ret) : each.ret;
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
