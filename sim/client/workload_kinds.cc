// All workloads, in the order of `holdfast list workloads`. A new one: its file, a declaration and a line
// here.
#include "sim/client/workload_kind.h"

namespace holdfast::sim {

WorkloadKind critical_section_workload();
WorkloadKind seckill_workload();
WorkloadKind transfer_workload();
WorkloadKind scheduled_job_workload();
WorkloadKind count_down_workload();
WorkloadKind external_workload();          // sim/external/
WorkloadKind postgresql_stock_workload();  // sim/comparators/

const std::vector<WorkloadKind>& all_workload_kinds() {
  static const std::vector<WorkloadKind> kinds = {
      critical_section_workload(), seckill_workload(),  transfer_workload(),         scheduled_job_workload(),
      count_down_workload(),       external_workload(), postgresql_stock_workload(),
  };
  return kinds;
}

const WorkloadKind* find_workload_kind(std::string_view name) {
  for (const WorkloadKind& kind : all_workload_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace holdfast::sim
