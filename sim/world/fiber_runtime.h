// The Runtime of one process of a world: that of fibers (lib/runtime/fibers/fiber_runtime.h), with random
// numbers from the seed, tasks that may be refused, and forks.
#pragma once

#include <optional>
#include <string_view>

#include "lib/runtime/fibers/fiber_runtime.h"
#include "sim/world/rng.h"
#include "sim/world/scheduler.h"

namespace holdfast::sim {

using fibers::FdWaiter;

class FiberRuntime final : public fibers::FiberRuntime {
 public:
  FiberRuntime(Scheduler& scheduler, ProcessGroup& group, Rng rng, FdWaiter* fds)
      : fibers::FiberRuntime(scheduler, group, fds), group_(group), rng_(rng) {}

  Task spawn(std::string_view role, std::function<void()> body) override;
  std::uint64_t random() override { return rng_.next(); }
  void renew_randomness() noexcept override {
    if (renewals_) rng_ = Rng(renewals_->next());
  }
  // It draws what `parent` draws, until either renews its randomness. `child`: its name.
  void fork_from(FiberRuntime& parent, std::string_view child);

 private:
  ProcessGroup& group_;
  Rng rng_;
  std::optional<Rng> renewals_;  // of a process that was forked; nullopt: there is no copy of it
};

}  // namespace holdfast::sim
