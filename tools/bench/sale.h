// The scenario files of the benchmark, scenarios/bench/*.toml: a flash sale under each fault (suite seckill,
// and the pictures of suite failover), and grants across a failover. What the benchmark varies, it sets in
// them as a variant would.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/scenario/scenario.h"

namespace holdfast::tools {

// A flash sale under one fault. Its base is the lock alone; its variants are the other protections.
struct SaleStory {
  std::string fault;                       // the name in the file: "holder-paused"
  std::string file;                        // its path
  std::vector<sim::Scenario> protections;  // as the file has them, the base first
};

// In the order of the tables. Throws sim::BadScenario when a file is not there or not as it should be.
const std::vector<SaleStory>& sale_stories();
// The same of scenarios/oversell/*.toml, which are small: the suite sets buyers and stock.
const std::vector<SaleStory>& great_sale_stories();

// "lock" for the base, else the name of the variant.
std::string protection_name(const sim::Scenario& protection);
// Whether buyers take a lock behind it.
bool has_lock(const sim::Scenario& protection);
// Whether that kind of lock can meet the fault at all, and gives the tokens that the protection needs.
bool possible(const sim::Scenario& protection, const sim::LockKind& kind);

// What is set in the file; 0, "" and null: as it says.
struct SaleSettings {
  const sim::LockKind* kind = nullptr;
  int buyers = 0;   // a process each
  int threads = 0;  // or so many in each process
  int stock = 0;
  std::string_view think = "";
};

// The sale with these settings; nothing is expected of it, the stock is looked at. A quorum's lock lives on
// three servers, of which the fault hits one; one that survives a failover on a primary and two replicas;
// every other on one (or a primary and its replica). REQUIRES:
// possible().
sim::Scenario sale_scenario(const SaleStory& story, const sim::Scenario& protection,
                            const SaleSettings& settings);

// Ten clients on one key for `time` ("10s") while the primary dies and its replica is promoted.
sim::Scenario failover_scenario(const sim::LockKind& kind, const std::string& time);

// Stretches of time in which the faults of a history acted, in seconds.
struct FaultTime {
  std::string name;
  double from = 0, to = 0;  // to = from: it never healed
};
std::vector<FaultTime> fault_times(const checker::History& history);

}  // namespace holdfast::tools
