// Workload count-down: each round has a latch of its own, "<key>:<round>". c1 sets it to as many as count it
// down: the first thread of each of the first `count` clients, when it has worked for `think`. Then all
// threads of all clients wait for it, and whoever got through goes on with the next round.
#include <algorithm>
#include <stdexcept>

#include "sim/client/fleet.h"
#include "sim/client/workload_kind.h"

namespace holdfast::sim {
namespace {

using checker::Function;

class CountDown final : public Fleet {
 public:
  CountDown(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options),
        rounds_(get_or(options.own, "rounds", kRounds)),
        count_(count_of(options)),
        set_first_(get_or(options.own, "set_first", false)) {}

  static constexpr std::int64_t kRounds = 10;
  static int count_of(const WorkloadOptions& options) {
    return static_cast<int>(get_or(options.own, "count", std::int64_t{2}));
  }

 private:
  void run_thread(WorkThread& thread) override {
    const bool first = thread.number() == 0;
    const int client = std::stoi(thread.process().name().substr(1));
    for (std::int64_t round = 0; round < rounds_ && !thread.over(); ++round) {
      const std::shared_ptr<Latch> latch = thread.obtain_latch(options().key + ":" + std::to_string(round));
      if (first && client == 1) {
        attempt(thread, *latch, Function::resize, [&] { return latch->set(count_); });
        rounds_set_ = std::max(rounds_set_, round + 1);
      }
      while (set_first_ && rounds_set_ <= round) thread.process().runtime().sleep_for(options().retry_pause);
      if (first && client <= count_) {
        thread.pause(options().think);
        attempt(thread, *latch, Function::count_down, [&] { return latch->count_down(); });
      }
      attempt(thread, *latch, Function::await, [&] { return latch->await(options().wait); });
    }
  }

  // [parks] `act`: one operation; false: not now, it is tried again after a pause (there is no latch yet).
  template <class Act>
  void attempt(WorkThread& thread, const Latch& latch, Function f, const Act& act) {
    ThreadRecorder& record = thread.record();
    const std::int64_t value = f == Function::resize ? count_ : checker::kAbsent;
    record.resource_invoked(f, latch.key(), value);
    try {
      while (!act()) {
        if (f != Function::count_down) return record.resource_failed(f, latch.key(), "refused");
        thread.process().runtime().sleep_for(options().retry_pause);
      }
      record.resource_ok(f, latch.key(), value);
      if (f == Function::await) ++thread.stats().acquired;
    } catch (const LockError& error) {
      ++thread.stats().failed;
      if (error.may_have_executed() && f != Function::await) {
        record.resource_unknown(f, latch.key(), error.what());
      } else {
        record.resource_failed(f, latch.key(), error.what());
      }
    }
  }

  const std::int64_t rounds_;
  const int count_;
  const bool set_first_;
  std::int64_t rounds_set_ = 0;  // so many latches c1 has set, as everybody hears by other ways
};

std::optional<WorkloadProblem> problem_of(const WorkloadOptions& options, const LockKind&) {
  const int count = CountDown::count_of(options);
  if (count >= 1 && count <= options.clients) return std::nullopt;
  return WorkloadProblem{.key = "count",
                         .what = "`count` is " + std::to_string(count) + ", expected at most `clients`, " +
                                 std::to_string(options.clients)};
}

}  // namespace

WorkloadKind count_down_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{.name = "count-down", .about = "some clients count latches down, all wait for them"};
  kind.keys = {
      {.name = "count",
       .type = Type::count,
       .about = "how many clients count each latch down when they have worked for `think` (2)",
       .most = 1000},
      {.name = "rounds", .type = Type::count, .about = "latches, one after another (10)", .most = 1'000'000},
      {.name = "set_first",
       .type = Type::flag,
       .about = "nobody touches a latch before c1 has set it (false)"},
  };
  kind.latch = true;
  kind.checks = {"latch"};
  kind.problem = problem_of;
  kind.make = [](World& world, Recorder& recorder,
                 const WorkloadOptions& options) -> std::unique_ptr<Workload> {
    return std::make_unique<CountDown>(world, recorder, options);
  };
  return kind;
}

}  // namespace holdfast::sim
