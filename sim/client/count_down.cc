// Workload count-down: each round has a latch of its own, "<key>:<round>". c1 sets it to as many as count it
// down: the first thread of each of the first `count` clients, when it has worked for `think`. Then all
// threads of all clients wait for it, and whoever got through goes on with the next round.
#include <stdexcept>

#include "lib/lock/latch/count_down_latch.h"
#include "sim/client/fleet.h"

namespace holdfast::sim {
namespace {

using checker::Function;

class CountDown final : public Fleet {
 public:
  CountDown(World& world, Recorder& recorder, const WorkloadOptions& options)
      : Fleet(world, recorder, options) {
    if (options.count < 1 || options.count > options.clients)
      throw std::invalid_argument("count: from one to as many as there are clients");
  }

 private:
  void run_thread(WorkThread& thread) override {
    const bool first = thread.number() == 0;
    const int client = std::stoi(thread.process().name().substr(1));
    for (std::int64_t round = 0; round < options().rounds && !thread.over(); ++round) {
      CountDownLatch latch(thread.server(), options().key + ":" + std::to_string(round),
                           {.look_again = options().lease});
      if (first && client == 1) {
        attempt(thread, latch, Function::resize, [&] { return latch.set(options().count); });
      }
      if (first && client <= options().count) {
        thread.pause(options().think);
        attempt(thread, latch, Function::count_down, [&] { return latch.count_down().has_value(); });
      }
      attempt(thread, latch, Function::await,
              [&] { return options().wait ? latch.await_for(*options().wait) : (latch.await(), true); });
    }
  }

  // [parks] `act`: one operation; false: not now, it is tried again after a pause (there is no latch yet).
  template <class Act>
  void attempt(WorkThread& thread, const CountDownLatch& latch, Function f, const Act& act) {
    ThreadRecorder& record = thread.record();
    const std::int64_t value = f == Function::resize ? options().count : checker::kAbsent;
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
};

}  // namespace

std::unique_ptr<Workload> make_count_down(World& world, Recorder& recorder, const WorkloadOptions& options) {
  return std::make_unique<CountDown>(world, recorder, options);
}

}  // namespace holdfast::sim
