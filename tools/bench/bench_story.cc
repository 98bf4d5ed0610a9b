#include "tools/bench/bench_story.h"

#include <fmt/format.h>

#include <map>

#include "sim/client/no_lock.h"

namespace holdfast::tools {

const std::vector<SaleFault>& sale_faults() {
  static const std::vector<SaleFault> faults = {
      {"none", "3s", "20ms..60ms", ""},
      {"holder paused", "800ms", "200ms..400ms", R"(
[[fault]]
id     = "pause"
kind   = "pause-client"
client = "$client"
after  = { event = "lock.granted", nth = 1, delay = "1ms..20ms" }
for    = "2500ms"
)"},
      {"watchdog paused", "600ms", "700ms..1s", R"(
[[fault]]
id     = "watchdog"
kind   = "pause-watchdog"
client = "$client"
after  = { event = "lock.granted", nth = 1, delay = "1ms..20ms" }
for    = "2500ms"
)"},
      {"primary failover", "3s", "700ms..1s", R"(
[[fault]]
id   = "lag"
kind = "replication-lag"
node = "r2"
at   = "0s"
for  = "3s"

[[fault]]
id    = "kill"
kind  = "crash"
node  = "r1"
after = { event = "lock.granted", nth = 1, delay = "0ms..5ms" }

[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { fault = "kill", delay = "100ms" }
)",
       true},
      {"restart, no persistence", "3s", "700ms..1s", R"(
[[fault]]
id    = "restart"
kind  = "crash"
node  = "r1"
after = { event = "lock.granted", nth = 1, delay = "5ms..50ms" }
for   = "200ms"
)"},
      {"server clock jumps", "3s", "700ms..1s", R"(
[[fault]]
id    = "jump"
kind  = "clock-step"
node  = "r1"
by    = "60s"
after = { event = "lock.granted", nth = 1, delay = "5ms..50ms" }
)"},
      {"holder partitioned", "800ms", "1s..1300ms", R"(
[[fault]]
id      = "island"
kind    = "partition"
between = "$client"
and     = "r1"
after   = { event = "lock.granted", nth = 1, delay = "1ms..20ms" }
for     = "2500ms"
)"},
  };
  return faults;
}

bool possible(const SaleFault& fault, const sim::LockKind* kind) {
  return !(fault.replicated && kind != nullptr && kind->quorum);
}

sim::Scenario sale_scenario(const SaleFault& fault, const Sale& sale) {
  const bool quorum = sale.kind != nullptr && sale.kind->quorum;
  const std::string topology = fault.replicated ? R"(topology = "primary-replica"
nodes = ["r1", "r2"])"
                               : quorum         ? R"(topology = "independent"
nodes = ["r1", "r2", "r3"])"
                                                : R"(topology = "single")";
  const std::string text = fmt::format(
      R"(schema = 1
name = "sale"
about = "A flash sale, for holdfast bench"
[run]
seeds = "1"
time = "40s"
[cluster]
{}
[lock]
kind = "{}"
lease = "{}"
on_lost = "{}"
[workload]
kind = "seckill"
clients = {}
threads = {}
stock = {}
start = "0ms..600ms"
think = "{}"
write = "{}"
[network]
latency = "200us..2ms"
{}
[[expect]]
check = "oversell"
)",
      topology, sale.kind != nullptr ? sale.kind->name : "reentrant", fault.lease,
      sale.heeds_loss ? "abort" : "ignore", sale.buyers, sale.threads, sale.stock,
      sale.think.empty() ? fault.think : sale.think, sale.write, fault.faults);
  sim::Scenario scenario = sim::parse_scenarios(text, "seckill").front();
  scenario.expectations.clear();  // nothing is judged, the stock is looked at
  if (sale.kind == nullptr) scenario.workload.own_lock = &sim::no_lock_kind();
  return scenario;
}

std::vector<FaultTime> fault_times(const checker::History& history) {
  std::vector<FaultTime> times;
  std::map<checker::Symbol, std::size_t> open;
  for (const checker::Event& event : history.events()) {
    if (event.f != checker::Function::fault) continue;
    const double at = static_cast<double>(event.time_ns) / 1e9;
    if (event.value == 1) {
      open[event.id] = times.size();
      times.push_back({std::string(history.text(event.error)), at, at});
    } else if (const auto found = open.find(event.id); found != open.end()) {
      times[found->second].to = at;
    }
  }
  return times;
}

}  // namespace holdfast::tools
