// Workload critical-section: acquire, stay, release, stay away; `depth` times inside itself.
#include "sim/client/fleet.h"

namespace holdfast::sim {
namespace {

class CriticalSection final : public Fleet {
 public:
  using Fleet::Fleet;

 private:
  void run_thread(WorkThread& thread) override {
    const bool endless = options().rounds == 0;
    for (std::int64_t round = 0; (endless || round < options().rounds) && !thread.over(); ++round) {
      thread.begin_round();
      section(thread, options().depth);
      thread.pause(options().think);
    }
  }

  void section(WorkThread& thread, int depth) {
    if (!thread.acquire()) return;
    thread.work(options().hold);
    if (depth > 1) {
      section(thread, depth - 1);
      thread.work(options().hold);
    }
    thread.release();
  }
};

}  // namespace

std::unique_ptr<Workload> make_critical_section(World& world, Recorder& recorder,
                                                const WorkloadOptions& options) {
  return std::make_unique<CriticalSection>(world, recorder, options);
}

}  // namespace holdfast::sim
