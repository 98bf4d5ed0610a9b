// Workload critical-section: acquire, stay, release, stay away; `depth` times inside itself. With
// `bystander_lease` only the first thread of a client does so. The others ask for the lock once in each of
// its holds, with this lease and without waiting; they give back at once what they are granted all the same.
// With `twin_keys` half of the tasks lock `{key}` in the place of `key`.
// With `downgrade` whoever writes takes the shared side before it gives the exclusive one back, and stays on.
#include <map>
#include <string>

#include "sim/client/fleet.h"
#include "sim/client/workload_kind.h"

namespace holdfast::sim {
namespace {

class CriticalSection final : public Fleet {
 public:
  CriticalSection(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        hold_(get_or(options.own, "hold", DurationRange{})),
        rounds_(get_or(options.own, "rounds", kRounds)),
        depth_(get_or(options.own, "depth", std::int64_t{1})),
        inner_lease_(get_or(options.own, kInnerLease, Duration::zero())),
        bystander_lease_(get_or(options.own, kBystanderLease, Duration::zero())),
        own_keys_(get_or(options.own, kOwnKeys, false)),
        twin_keys_(get_or(options.own, kTwinKeys, false)),
        downgrade_(get_or(options.own, kDowngrade, false)) {}

  static constexpr std::int64_t kRounds = 10;  // 0: without end
  static constexpr std::string_view kInnerLease = "inner_lease", kBystanderLease = "bystander_lease",
                                    kDowngrade = "downgrade", kSelfDeadlock = "self_deadlock",
                                    kOwnKeys = "own_keys", kTwinKeys = "twin_keys";

 private:
  std::string key_of(const std::string& client, int number) const override {
    const std::string& key = options().key;
    if (own_keys_) return key + ":" + client + "/" + std::to_string(number);
    const bool twin = twin_keys_ && (client.back() + number) % 2 == 0;  // c2/0, c1/1
    return twin ? "{" + key + "}" : key;
  }

  void run_thread(WorkThread& thread) override {
    First& first = first_[thread.process().name()];
    if (bystander_lease_ > Duration::zero() && thread.number() > 0) return stand_by(thread, first);
    first = {};
    for (std::int64_t round = 0; (rounds_ == 0 || round < rounds_) && !thread.over(); ++round) {
      thread.begin_round();
      section(thread, nullptr, depth_);
      thread.pause(options().think);
    }
    first.done = true;
  }

  // The first thread of a client.
  struct First {
    std::int64_t holds = 0;  // begun
    bool inside = false, done = false;
  };
  static constexpr Duration kLook = std::chrono::milliseconds(20);

  void stand_by(WorkThread& thread, const First& first) {
    const std::shared_ptr<Lock> leased = thread.obtain_leased(thread.lock().key(), bystander_lease_);
    for (std::int64_t asked = 0; !first.done; thread.process().runtime().sleep_for(kLook)) {
      if (!first.inside || first.holds == asked) continue;
      asked = first.holds;
      if (thread.acquire_at_once(*leased)) thread.release(*leased);
    }
  }

  // `inner`: the lock as it is taken inside itself, with a lease of its own; null: as in the rest.
  void section(WorkThread& thread, Lock* inner, std::int64_t depth) {
    if (!(inner == nullptr ? thread.acquire() : thread.acquire(*inner))) return;
    First& first = first_[thread.process().name()];
    if (depth == depth_) first = {.holds = first.holds + 1, .inside = true};
    thread.work(hold_);
    if (depth > 1) {
      std::shared_ptr<Lock> leased;
      if (inner_lease_ > Duration::zero()) leased = thread.obtain_leased(thread.lock().key(), inner_lease_);
      section(thread, leased.get(), depth - 1);
      thread.work(hold_);
    }
    if (depth == depth_) first.inside = false;
    if (downgrade_ && depth == depth_ && !thread.only_reads()) return downgrade(thread);
    inner == nullptr ? thread.release() : thread.release(*inner);
  }

  void downgrade(WorkThread& thread) {
    const std::shared_ptr<Lock> shared = thread.obtain_shared();
    const bool reads = thread.acquire(*shared);
    const bool stays = thread.release();
    if (!reads) return;
    if (stays) thread.work(hold_, *shared);
    thread.release(*shared);
  }

  const DurationRange hold_;
  const std::int64_t rounds_, depth_;
  const Duration inner_lease_;      // zero: the same as outside
  const Duration bystander_lease_;  // zero: all threads work
  const bool own_keys_, twin_keys_, downgrade_;
  std::map<std::string, First> first_;  // by client
};

bool nests(const LockKind& lock) { return lock.reentrant; }
bool has_sides(const LockKind& lock) { return lock.shared; }
bool takes_a_lease(const LockKind& lock) { return lock.own_lease; }

// Of a key that gives some acquires a lease of their own: what is wrong with it.
std::optional<WorkloadProblem> lease_problem(const WorkloadOptions& options, const LockKind& lock,
                                             std::string_view key) {
  const Duration* const lease = get<Duration>(options.own, key);
  if (lease == nullptr) return std::nullopt;
  WorkloadProblem problem{.key = key, .what = "`" + std::string(key) + "`"};
  if (!takes_a_lease(lock)) {
    problem.what += ": an acquire of the lock `" + std::string(lock.name) + "` takes no lease of its own";
    problem.able = takes_a_lease;
  } else if (*lease < std::chrono::milliseconds(1)) {
    problem.what += " is below a millisecond, expected such as \"2s\"";
  } else if (key == CriticalSection::kInnerLease && get_or(options.own, "depth", std::int64_t{1}) < 2) {
    problem.what += " without an inner acquire, expected `depth` above 1";
  } else if (key == CriticalSection::kBystanderLease && options.threads < 2) {
    problem.what += " without other threads, expected `threads` above 1";
  } else {
    return std::nullopt;
  }
  return problem;
}

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind& lock) {
  for (const std::string_view key : {CriticalSection::kInnerLease, CriticalSection::kBystanderLease}) {
    if (auto problem = lease_problem(options, lock, key)) return problem;
  }
  if (get_or(options.own, CriticalSection::kDowngrade, false) && !has_sides(lock)) {
    return WorkloadProblem{
        .key = CriticalSection::kDowngrade,
        .what = "`downgrade`: the lock `" + std::string(lock.name) + "` has no side that many may hold",
        .able = has_sides};
  }
  if (get_or(options.own, CriticalSection::kTwinKeys, false) &&
      get_or(options.own, CriticalSection::kOwnKeys, false)) {
    return WorkloadProblem{.key = CriticalSection::kTwinKeys,
                           .what = "`twin_keys` beside `own_keys`, expected one of them"};
  }
  if (get_or(options.own, "depth", std::int64_t{1}) <= 1 || nests(lock) ||
      get_or(options.own, CriticalSection::kSelfDeadlock, false))
    return std::nullopt;
  return WorkloadProblem{
      .key = "depth",
      .what = "`depth`: the lock `" + std::string(lock.name) + "` cannot be taken inside itself",
      .able = nests};
}

}  // namespace

WorkloadKind critical_section_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{.name = "critical-section", .about = "acquire, stay, release, stay away for `think`"};
  kind.keys = {
      {.name = "hold", .type = Type::range, .about = "time inside (none)"},
      {.name = "rounds", .type = Type::count, .about = "acquires of each task (10)", .most = 1'000'000},
      {.name = "depth",
       .type = Type::count,
       .about = "so often is the lock taken inside itself, with another `hold` after each (1)",
       .most = 100},
      {.name = "self_deadlock",
       .type = Type::flag,
       .about =
           "`depth` of a lock that cannot be taken inside itself, too: its holder waits for itself (false)"},
      {.name = "inner_lease",
       .type = Type::duration,
       .about =
           "the inner acquires of `depth` take the lock with this lease, which nobody renews (as outside)"},
      {.name = "bystander_lease",
       .type = Type::duration,
       .about = "threads of a client after its first one only ask for the lock once in each of its holds, "
                "with this lease and without waiting (they work)"},
      {.name = "downgrade",
       .type = Type::flag,
       .about =
           "who writes takes the shared side before it gives the exclusive one back, and stays for another "
           "`hold` (false)"},
      {.name = "own_keys", .type = Type::flag, .about = "each task locks a key of its own (false)"},
      {.name = "twin_keys",
       .type = Type::flag,
       .about = "every other task locks the key in braces, which is another lock in the same slot (false)"},
  };
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<CriticalSection>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
