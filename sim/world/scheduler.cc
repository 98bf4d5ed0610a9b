#include "sim/world/scheduler.h"

#include "lib/runtime/simulated_forks.h"
#include "sim/world/rare.h"

namespace holdfast::sim {

void Scheduler::turn(Fiber& next) {
  const ProcessGroup* const process = process_of(next);
  internal::simulate_forks(process == nullptr ? 0 : process->forks);  // the library asks where it runs
  trace_.add(next.id);
  if (past_ != nullptr) past_->turn(next, now());
}

std::optional<Duration> Scheduler::early() {
  const ProcessGroup* const process = process_of(current());
  return process != nullptr && process->rare ? process->rare->early() : std::nullopt;
}

Duration Scheduler::late(Fiber& fiber) {
  const ProcessGroup* const process = process_of(fiber);
  return process != nullptr && process->rare ? process->rare->late(fiber.role->name) : Duration{};
}

}  // namespace holdfast::sim
