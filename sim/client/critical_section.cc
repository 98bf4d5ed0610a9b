// Workload critical-section: acquire, stay, release, stay away.
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
      if (thread.acquire()) {
        thread.work(options().hold);
        thread.release();
      }
      thread.pause(options().think);
    }
  }
};

}  // namespace

std::unique_ptr<Workload> make_critical_section(World& world, Recorder& recorder,
                                                const WorkloadOptions& options) {
  return std::make_unique<CriticalSection>(world, recorder, options);
}

}  // namespace holdfast::sim
