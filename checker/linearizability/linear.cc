// The mutex family by cores. The core of a hold lasts from the completion of its acquire to the invocation of
// its release; in every order the owner holds throughout it.
#include "checker/linearizability/linear.h"

#include <algorithm>

#include "checker/holds/exclusion.h"
#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

struct Core {
  std::size_t acquire = kNowhere, release = kNowhere;  // release: kNowhere: it was not released
  std::int64_t from = 0, to = kForever;
  Symbol owner = 0;
  Value token;
  std::size_t token_of = kNowhere;  // the acquire that returned the token: the outermost one or a re-entry
  bool shared = false;
  bool late = false;             // released after it had ended as a whole
  std::size_t under = kNowhere;  // a read core within a write hold of its owner: the core of that
};

// What one owner holds now.
struct OwnerHolds {
  std::size_t core = kNowhere;  // of the write (or only) hold
  std::int64_t depth = 0;
  std::size_t read_core = kNowhere;
  std::int64_t reads = 0;
  // Entries of `core` that ended as a whole, or not yet: a release of one of them may still succeed, and then
  // it was there until then.
  std::int64_t spare = 0;
};

class LockCores {
 public:
  LockCores(const std::vector<Operation>& operations, bool reentrant, bool fenced, bool read_write,
            std::int64_t most)
      : operations_(operations),
        reentrant_(reentrant),
        fenced_(fenced),
        read_write_(read_write),
        most_(most),
        owners_(std::size_t{most_owner(operations)} + 1) {}

  std::optional<LinearResult> run(std::string& why_not) {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& each = operations_[i];
      OwnerHolds& owner = owners_[each.owner];
      if (each.f == Function::acquire) {
        if (!each.unknown) acquire(i, each, owner);
      } else {
        release(i, each, owner);
      }
    }
    find_overlaps();
    if (fenced_ && !find_tokens()) {
      why_not = "holds without extent at equal times";
      return std::nullopt;
    }
    return std::move(best_);
  }

 private:
  // Keeps the violation whose completion comes first.
  void violated(LinearResult found) {
    found.linearizable = false;
    std::sort(found.operations.begin(), found.operations.end());
    found.operations.erase(std::unique(found.operations.begin(), found.operations.end()),
                           found.operations.end());
    if (best_.linearizable || operations_[found.stuck].ret < operations_[best_.stuck].ret)
      best_ = std::move(found);
  }

  std::size_t open(std::size_t at, const Operation& each, bool shared) {
    cores_.push_back({.acquire = at,
                      .from = each.ret,
                      .owner = each.owner,
                      .token = each.token,
                      .token_of = at,
                      .shared = shared});
    return cores_.size() - 1;
  }
  void close(std::size_t core, std::size_t at) {
    CHECKER_INVARIANT(cores_[core].release == kNowhere, "a hold is released once");
    cores_[core].release = at;
    cores_[core].to = operations_[at].call;
  }

  void acquire(std::size_t at, const Operation& each, OwnerHolds& owner) {
    if (read_write_ && each.shared) {
      if (owner.reads++ == 0) {
        owner.read_core = open(at, each, true);
        // The reading begins before the writing ends, even at one time, so that no other writer fits between.
        if (owner.depth > 0) {
          cores_[owner.read_core].under = owner.core;
          cores_[owner.read_core].from = cores_[owner.core].from;
        }
      }
      return;
    }
    const bool writes = reentrant_ && owner.depth > 0;
    if (owner.reads > 0 && !writes &&
        !HOLDFAST_PLANTED(a_reader_may_write)) {  // a reader may not become a writer
      violated({.kind = "double-hold",
                .operations = {cores_[owner.read_core].acquire, at},
                .stuck = at,
                .holder = cores_[owner.read_core].acquire});
    }
    if (owner.depth > 0) {
      Core& core = cores_[owner.core];
      if (!reentrant_) {
        violated(
            {.kind = "double-hold", .operations = {core.acquire, at}, .stuck = at, .holder = core.acquire});
        return;
      }
      if (most_ > 0 && owner.depth >= most_ + (HOLDFAST_PLANTED(one_entry_too_many) ? 1 : 0)) {
        LinearResult found{.kind = "too-deep", .operations = {at}, .stuck = at, .holder = core.acquire};
        for (std::size_t i = core.acquire; i < at; ++i) {
          if (operations_[i].owner == each.owner) found.operations.push_back(i);
        }
        violated(std::move(found));
      }
      ++owner.depth;
      if (each.token.empty()) return;
      if (core.token.empty()) {
        core.token = each.token;
        core.token_of = at;
      } else if (fenced_ && core.token != each.token) {
        violated({.kind = "token-order",
                  .operations = {core.acquire, core.token_of, at},
                  .stuck = at,
                  .holder = core.acquire});
      }
      return;
    }
    owner.core = open(at, each, false);
    owner.depth = 1;
  }

  void release(std::size_t at, const Operation& each, OwnerHolds& owner) {
    if (each.whole) {
      if (owner.depth > 0) owner.spare = owner.depth;
      if (owner.depth > 0) close(owner.core, at);
      if (owner.reads > 0) close(owner.read_core, at);
      owner.depth = owner.reads = 0;
      return;
    }
    const bool write = !(read_write_ && each.shared) && owner.depth > 0;
    if (write) {
      if (--owner.depth == 0) close(owner.core, at);
    } else if (read_write_ && owner.reads > 0) {
      if (--owner.reads == 0) close(owner.read_core, at);
    } else if (each.unknown) {
      return;
    } else if (owner.spare > 0) {
      --owner.spare;
      if (!HOLDFAST_PLANTED(late_release_is_free)) cores_[owner.core].to = each.call;
      cores_[owner.core].release = at;
      cores_[owner.core].late = true;
    } else {
      violated({.kind = "release-without-hold", .operations = {at}, .stuck = at});
    }
  }

  void find_overlaps() {
    std::vector<Span> spans;
    spans.reserve(cores_.size());
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      const Core& core = cores_[i];
      spans.push_back({.from_ns = core.from,
                       .to_ns = std::max(core.from, core.to),
                       .owner = core.owner,
                       .shared = core.shared,
                       .number = i});
    }
    // reentrant: the holds of one owner were compared above, in its own order.
    const ExclusionResult found = sweep_exclusion(spans, {.reentrant = true}, 1);
    if (found.count == 0) return;
    const Core& second = cores_[found.conflicts[0].number];
    const Core& first = cores_[found.conflicts[0].with[0]];
    LinearResult result{.kind = "double-hold", .stuck = second.acquire, .holder = first.acquire};
    // It was a release after the end of the hold that showed that it had not ended.
    for (const Core* core : {&first, &second}) {
      if (!core->late || operations_[core->release].ret <= operations_[result.stuck].ret) continue;
      result.stuck = core->release;
      result.kind = "release-without-hold";
    }
    for (const Core* core : {&first, &second}) {
      for (const Core* each : {core, core->under == kNowhere ? core : &cores_[core->under]}) {
        result.operations.push_back(each->acquire);
        if (each->release != kNowhere) result.operations.push_back(each->release);
      }
    }
    violated(std::move(result));
  }

  // Compares tokens along the cores, which are disjoint where no overlap was found. False: the order of cores
  // is not forced.
  bool find_tokens() {
    std::vector<const Core*> order;
    for (const Core& core : cores_) order.push_back(&core);
    const auto empty = [](const Core* core) { return core->from >= core->to; };
    std::stable_sort(order.begin(), order.end(), [&](const Core* a, const Core* b) {
      return a->from != b->from ? a->from < b->from : empty(a) && !empty(b);
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (order[i]->from == order[i - 1]->from && empty(order[i])) return false;
    }
    const Core* greatest = nullptr;
    for (const Core* core : order) {
      if (core->token.empty()) continue;
      if (greatest != nullptr &&
          (core->token < greatest->token ||
           (core->token == greatest->token && !HOLDFAST_PLANTED(linear_takes_equal_tokens)))) {
        LinearResult found{.kind = "token-order", .stuck = core->acquire, .holder = greatest->acquire};
        for (const Core* each : {greatest, core}) {
          found.operations.push_back(each->acquire);
          found.operations.push_back(each->token_of);
          if (each->release != kNowhere) found.operations.push_back(each->release);
        }
        violated(std::move(found));
        break;
      }
      greatest = core;
    }
    return true;
  }

  const std::vector<Operation>& operations_;
  const bool reentrant_, fenced_, read_write_;
  const std::int64_t most_;
  std::vector<OwnerHolds> owners_;
  std::vector<Core> cores_;
  LinearResult best_;
};

}  // namespace

bool owners_are_sequential(const std::vector<Operation>& operations) {
  if (HOLDFAST_PLANTED(owners_are_always_in_turn)) return true;
  std::vector<std::pair<std::int64_t, Symbol>> busy(std::size_t{most_owner(operations)} + 1, {INT64_MIN, 0});
  for (const Operation& each : operations) {
    auto& [until, process] = busy[each.owner];
    if (each.whole) {  // its owner acquires nothing any more, and what it holds ends at once
      if (each.call < until || (each.call == until && process != each.process)) return false;
      continue;
    }
    // At equal times operations of one process are ordered; those of two processes are not.
    const bool other = process != each.process && process != 0;
    if (until == kForever || each.call < until || (other && each.call == until)) return false;
    until = each.unknown ? kForever : each.ret;
    process = each.process;
  }
  return true;
}

std::optional<LinearResult> linear_lock(const std::vector<Operation>& operations, bool reentrant, bool fenced,
                                        bool read_write, std::int64_t most_entries, std::string& why_not) {
  if (!owners_are_sequential(operations)) {
    why_not = "an owner goes on after an unknown outcome";
    return std::nullopt;
  }
  return LockCores(operations, reentrant, fenced, read_write, most_entries).run(why_not);
}

// Each hold is an acquire, and the end of its claim by the same process (operations.h). Their cores must not
// conflict.
std::optional<LinearResult> linear_leased(const std::vector<Operation>& operations) {
  std::vector<Span> spans;
  Symbol most = 0;
  for (const Operation& each : operations) most = std::max(most, each.process);
  std::vector<std::size_t> span_of(std::size_t{most} + 1, kNowhere), release(operations.size(), kNowhere);
  LinearResult result;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    std::size_t& mine = span_of[each.process];
    if (each.f == Function::acquire) {
      mine = spans.size();
      spans.push_back(
          {.from_ns = each.ret, .to_ns = kForever, .owner = each.owner, .shared = each.shared, .number = i});
    } else if (mine != kNowhere) {
      spans[mine].to_ns = each.call;
      release[spans[mine].number] = i;
    } else if (result.linearizable || each.ret < operations[result.stuck].ret) {
      result = {.linearizable = false, .kind = "release-without-hold", .operations = {i}, .stuck = i};
    }
  }
  const ExclusionResult found = sweep_exclusion(spans, {}, 1);
  if (found.count == 0) return result;
  const std::size_t second = found.conflicts[0].number, first = found.conflicts[0].with[0];
  if (!result.linearizable && operations[result.stuck].ret <= operations[second].ret) return result;
  result = {.linearizable = false, .kind = "double-hold", .operations = {}, .stuck = second, .holder = first};
  for (const std::size_t acquire : {first, second}) {
    result.operations.push_back(acquire);
    if (release[acquire] != kNowhere) result.operations.push_back(release[acquire]);
  }
  std::sort(result.operations.begin(), result.operations.end());
  return result;
}

std::optional<LinearResult> check_linear(std::string_view model, const std::vector<Operation>& operations,
                                         const ModelOptions& options, std::string& why_not) {
  if (model == "mutex" || model == "session-lock")
    return linear_lock(operations, false, false, false, 0, why_not);
  if (model == "reentrant-mutex")
    return linear_lock(operations, true, false, false, options.most_entries, why_not);
  if (model == "fenced-mutex") return linear_lock(operations, false, true, false, 0, why_not);
  if (model == "reentrant-fenced-mutex") {
    return linear_lock(operations, true, true, false, options.most_entries, why_not);
  }
  if (model == "read-write") return linear_lock(operations, false, false, true, 0, why_not);
  if (model == "reentrant-read-write") return linear_lock(operations, true, false, true, 0, why_not);
  if (model == "leased-mutex" || model == "reentrant-leased-mutex" || model == "leased-read-write" ||
      model == "reentrant-leased-read-write") {
    return linear_leased(operations);
  }
  if (model == "semaphore" || model == "leased-semaphore")
    return linear_semaphore(operations, options.permits, why_not);
  if (model == "fair") return linear_fair(operations, why_not);
  if (model == "mutex-anonymous") return linear_anonymous(operations, why_not);
  if (model == "register") return linear_register(operations, options.initial, why_not);
  why_not = "there is no linear algorithm for this model";
  return std::nullopt;
}

}  // namespace holdfast::checker
