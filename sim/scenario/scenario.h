// Scenario: one run as read from a file: servers, network, workload, faults, expectations. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/client/run_events.h"
#include "sim/client/workload.h"
#include "sim/cluster/cluster.h"
#include "sim/fault/fault.h"
#include "sim/proxy/proxy.h"
#include "sim/scenario/document.h"
#include "sim/scenario/problem.h"
#include "sim/scenario/units.h"
#include "sim/world/order.h"
#include "sim/world/rare.h"

namespace holdfast::sim {

// When a fault acts. Exactly one of `at`, `every`, `event`, `fault`, `message` is set.
struct Trigger {
  enum class Kind { at, every, event, fault, message };
  Kind kind = Kind::at;
  DurationRange time;                               // at, every: when, how far apart
  RunEventKind event = RunEventKind::lock_granted;  // `client`, `node`, `nth` narrow it
  std::string fault;                                // from that fault's start
  std::string message;                              // the command's name, upper case
  Direction direction = Direction::request;         // message: `phase`
  std::string client, node;                         // "" any
  // From 1, with `during`: since that fault began to act; the trigger fires once. Drawn if they differ.
  std::int64_t nth = 1, last_nth = 1;
  bool or_never = false;  // the last of these is no place: it does not act
  DurationRange delay;    // event, fault, message: then this much later (0: before anything else happens)
};

// In the place of a client's name in a fault that an event or a message triggers: the client that it came
// from.
inline constexpr std::string_view kEventClient = "$client";

struct FaultPlan {
  const FaultKind* kind = nullptr;
  FaultConfig config;
  bool enabled = true;
  Trigger trigger;
  std::optional<DurationRange> lasts;  // `for`
  std::optional<Trigger> until;        // event, fault: instead; events are counted since the act began
  bool heals() const { return lasts || until; }
  std::string during;  // fires, and counts, only while that fault acts; "" always
  Position at;
};

struct Expectation {
  std::string check = {};
  bool violated = false;  // `is`
  std::string kind = {};  // violated: at least one witness of this kind ("double-grant", "overrun"); "" any
  SeedQuota seeds = {};
  std::vector<std::string> marks = {};  // check = "reached"
  Position at = {};
};

struct Scenario {
  std::string file, name, about;
  std::string variant;  // "" is the base
  Position at;          // of the variant, or of the file
  // What it was read from, as a file of its own: what its variant sets is in place, and it has no variants.
  // to_toml() writes it (write_document.h).
  std::shared_ptr<const Value> document;

  SeedSet seeds;
  Duration time = std::chrono::seconds(60);
  Duration progress_bound = std::chrono::seconds(5);  // [run] progress: beyond the longest lease left
  OrderKind order = OrderKind::random;  // [run] order: of tasks that can run at one moment (embedded)
  bool chains = false;                  // and of messages and timers, by delays (sim/world/chains.h)
  std::int64_t share_percent =
      0;                       // [run] share: of an even share of the grants, each client's; 0: nobody says
  std::int64_t overtakes = 0;  // [lock] overtakes: how often the lock lets a waiter be overtaken
  // [run] calm: from then on no fault acts, and all is healed but what strikes these nodes, fewer than half.
  std::optional<Duration> calm;
  std::vector<std::string> stay_broken;
  Duration clock_bound{};  // [run] clock_bound: steps up to this are within what locks must bear

  ClusterOptions cluster;
  std::map<std::string, Position> settings_at;  // [cluster.settings]
  const LockKind* lock = nullptr;
  WorkloadOptions workload;  // its nodes are filled in when the cluster is up
  DurationRange latency;
  std::map<std::string, DurationRange> far_clients;  // of these clients, instead of `latency`
  RareOptions rare;                                  // in clients (embedded)
  std::vector<FaultPlan> faults;
  std::vector<Expectation> expectations;

  // Where it lies, and where the programs of `external` run.
  std::string folder() const;
  std::string title() const { return variant.empty() ? name : name + "/" + variant; }
};

// The scenarios of a file: the base, then its variants in order. Throws BadScenario at the first problem.
std::vector<Scenario> read_scenarios(const std::string& path);
std::vector<Scenario> parse_scenarios(std::string_view text, const std::string& name);

// A value for the key `path` of a file, as in the `set` of a variant: {"lock.kind", "fair"}.
struct Override {
  std::string path;
  std::variant<std::string, std::int64_t, std::vector<std::string>, bool> value;
};
// One scenario of a file, its base ("") or that variant, with these values set in it last. Throws
// BadScenario, also when there is no such variant.
Scenario read_scenario(const std::string& path, const std::string& variant,
                       const std::vector<Override>& overrides);

// Throws BadScenario at the fault that `embedded` or real cannot do.
void require_world(const Scenario& scenario, bool embedded);

// Marks that a scenario may name besides "fault.ID" and "fault.ID.healed".
const std::vector<MarkInfo>& all_marks();
inline constexpr std::string_view kGrantedDuringFault = "granted-during-fault";

}  // namespace holdfast::sim
