// Workload critical-section: acquire, stay, release, stay away; `depth` times inside itself.
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
        own_keys_(get_or(options.own, "own_keys", false)) {}

  static constexpr std::int64_t kRounds = 10;  // 0: without end

 private:
  std::string key_of(const std::string& client, int number) const override {
    return own_keys_ ? options().key + ":" + client + "/" + std::to_string(number) : options().key;
  }

  void run_thread(WorkThread& thread) override {
    for (std::int64_t round = 0; (rounds_ == 0 || round < rounds_) && !thread.over(); ++round) {
      thread.begin_round();
      section(thread, depth_);
      thread.pause(options().think);
    }
  }

  void section(WorkThread& thread, std::int64_t depth) {
    if (!thread.acquire()) return;
    thread.work(hold_);
    if (depth > 1) {
      section(thread, depth - 1);
      thread.work(hold_);
    }
    thread.release();
  }

  const DurationRange hold_;
  const std::int64_t rounds_, depth_;
  const bool own_keys_;
};

bool nests(const LockKind& lock) { return lock.reentrant; }

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind& lock) {
  if (get_or(options.own, "depth", std::int64_t{1}) <= 1 || nests(lock)) return std::nullopt;
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
      {.name = "own_keys", .type = Type::flag, .about = "each task locks a key of its own (false)"},
  };
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<CriticalSection>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
