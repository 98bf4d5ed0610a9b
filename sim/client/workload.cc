#include "sim/client/workload.h"

#include "lib/runtime/check.h"
#include "sim/client/fleet.h"

namespace holdfast::sim {

std::unique_ptr<Workload> make_workload(World& world, Recorder& recorder, const WorkloadOptions& options) {
  switch (options.kind) {
    case WorkloadKind::critical_section: return make_critical_section(world, recorder, options);
    case WorkloadKind::seckill: return make_seckill(world, recorder, options);
    case WorkloadKind::count_down: return make_count_down(world, recorder, options);
  }
  HF_CHECK(false, "every kind of workload is made above");
}

}  // namespace holdfast::sim
