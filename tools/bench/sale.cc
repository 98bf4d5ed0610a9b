#include "tools/bench/sale.h"

#include <map>

#include "sim/client/no_lock.h"
#include "tools/bench/folders.h"

namespace holdfast::tools {
namespace {

std::string file_of(const std::string& name) { return checkout_path("scenarios/bench/" + name + ".toml"); }

std::vector<SaleStory> read_stories(const std::string& beginning, std::initializer_list<const char*> names) {
  std::vector<SaleStory> stories;
  for (const char* name : names) {
    SaleStory& story = stories.emplace_back();
    story.file = checkout_path("scenarios/" + beginning + name + ".toml");
    story.protections = sim::read_scenarios(story.file);
    story.fault = story.protections.front().name;
  }
  return stories;
}

bool shows_tokens(const sim::WorkloadOptions& workload) {
  return sim::get_or(workload.own, "write", std::string("blind")).starts_with("token");
}

// The fault of a file in which the other replica of a set of three follows the one that was promoted.
constexpr std::string_view kFollow = "follow";

}  // namespace

const std::vector<SaleStory>& sale_stories() {
  static const std::vector<SaleStory> kStories =
      read_stories("bench/sale_", {"no_fault", "holder_paused", "watchdog_paused", "primary_failover",
                                   "restart_no_persistence", "server_clock_jumps", "holder_partitioned"});
  return kStories;
}

const std::vector<SaleStory>& great_sale_stories() {
  static const std::vector<SaleStory> kStories =
      read_stories("oversell/", {"no_fault", "holder_paused", "holder_partitioned", "primary_failover",
                                 "failover_slow_buyer", "restart_slow_buyer", "server_clock_jumps"});
  return kStories;
}

std::string protection_name(const sim::Scenario& protection) {
  return protection.variant.empty() ? "lock" : protection.variant;
}

bool has_lock(const sim::Scenario& protection) { return protection.lock != &sim::no_lock_kind(); }

bool possible(const sim::Scenario& protection, const sim::LockKind& kind) {
  if (kind.quorum && protection.cluster.topology == sim::Topology::primary_replica) return false;
  return kind.tokens || !shows_tokens(protection.workload);
}

sim::Scenario sale_scenario(const SaleStory& story, const sim::Scenario& protection,
                            const SaleSettings& settings) {
  std::vector<sim::Override> set;
  if (settings.kind != nullptr) set.push_back({"lock.kind", std::string(settings.kind->name)});
  if (settings.kind != nullptr && settings.kind->quorum) {
    set.push_back({"cluster.topology", "independent"});
    set.push_back({"cluster.nodes", std::vector<std::string>{"r1", "r2", "r3"}});
  }
  if (settings.kind != nullptr && settings.kind->survives_failover) {
    set.push_back({"cluster.topology", "primary-replica"});
    set.push_back({"cluster.nodes", std::vector<std::string>{"r1", "r2", "r3"}});
    for (const sim::FaultPlan& fault : protection.faults) {
      if (fault.config.id != kFollow) continue;
      set.push_back({"fault.follow.enabled", true});
      set.push_back({"fault.follow.node", "r3"});
      set.push_back({"fault.follow.primary", "r2"});
    }
  }
  for (const auto& [path, value] : {std::pair{"workload.clients", settings.buyers},
                                    {"workload.threads", settings.threads},
                                    {"workload.stock", settings.stock}}) {
    if (value > 0) set.push_back({path, std::int64_t{value}});
  }
  if (!settings.think.empty()) set.push_back({"workload.think", std::string(settings.think)});
  sim::Scenario scenario = sim::read_scenario(story.file, protection.variant, set);
  scenario.expectations.clear();
  return scenario;
}

sim::Scenario failover_scenario(const sim::LockKind& kind, const std::string& time) {
  return sim::read_scenario(file_of("grants_across_failover"), "",
                            {{"lock.kind", std::string(kind.name)}, {"run.time", time}});
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
