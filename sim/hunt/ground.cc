#include "sim/hunt/ground.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "sim/client/lock_kind_rows.h"
#include "sim/hunt/draw_case.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"
#include "sim/truth/decoders.h"

namespace holdfast::sim {
namespace {

const std::string* text_of(const FaultPlan& fault, std::string_view key) {
  return fault.config.get<std::string>(key);
}

// What any sound lock on one server bears, whatever its keys say.
const std::set<std::string_view>& harmless_kinds() {
  static const std::set<std::string_view> kKinds = {"pause-client",
                                                    "pause-server",
                                                    "partition",
                                                    "split",
                                                    "stall",
                                                    "cut",
                                                    "refuse",
                                                    "delay",
                                                    "drop-message",
                                                    "bandwidth",
                                                    "slow-close",
                                                    "error-reply",
                                                    "reset-before-request",
                                                    "reset-after-request",
                                                    "reset-mid-reply",
                                                    "reorder-replies",
                                                    "hold-message",
                                                    "client-pause",
                                                    "script-flush",
                                                    "kill-connection",
                                                    "busy-script",
                                                    "read-only-moment",
                                                    "slow-fsync",
                                                    "full-resync",
                                                    "replication-lag",
                                                    "fork-client",
                                                    "memory-full"};
  return kKinds;
}

// What becomes of servers, their data and their roles, where a lock bears that.
const std::set<std::string_view>& changes_servers() {
  static const std::set<std::string_view> kKinds = {
      "crash",  "power-loss", "restart",           "loading", "shutdown",  "promote",
      "demote", "failover",   "sentinel-failover", "refuse",  "disk-full", "stale-reads"};
  return kKinds;
}

// A permit that has an id is renewed by nobody, and its end is told to nobody.
bool is_watched(const LockKind& lock) { return lock.records_of() != "permit-semaphore"; }

// Of what a file expects, a hunt asks for what a lock can break: not for marks to be reached, and not for
// what the file says is violated.
void keep_promises(Value& document) {
  const Value* const expected = document.find("expect");
  if (expected == nullptr) return;
  std::vector<Value> promises;
  for (const Value& one : expected->items) {
    const Value* const is = one.find("is");
    if (one.find("check")->text == "reached" || (is != nullptr && is->text != "holds")) continue;
    promises.push_back(one);
  }
  if (promises.empty()) {
    erase_key(document, "expect");
  } else {
    set_key(document, "expect", list_value(std::move(promises)));
  }
}

}  // namespace

bool bears(const FaultPlan& fault, const LockKind& lock, const ClusterOptions& cluster) {
  const std::string_view kind = fault.kind->name;
  if (harmless_kinds().contains(kind)) return true;
  const bool of_client = text_of(fault, "client") != nullptr;
  if (lock.survives_failover && changes_servers().contains(kind)) return true;
  // The wall clock of a client is asked for nothing.
  if (kind == "clock-step" || kind == "clock-strobe") return of_client;
  if (kind == "crash" && of_client) return true;
  // A server may go if it comes back with all that it acknowledged.
  const std::string* const disk = text_of(fault, "disk");
  const bool keeps = cluster.persistence == Persistence::aof_always && (disk == nullptr || *disk == "keep");
  return keeps && (kind == "crash" || kind == "restart" || kind == "power-loss" || kind == "loading");
}

bool bears_all(const Scenario& scenario) {
  Duration stepped{};
  for (const FaultPlan& fault : scenario.faults) {
    if (bears(fault, *scenario.lock, scenario.cluster)) continue;
    const Duration* const by = fault.config.get<Duration>("by");
    if (!scenario.lock->survives_failover || fault.kind->name != "clock-step" || by == nullptr) return false;
    stepped += std::chrono::abs(*by) * (fault.heals() ? 2 : 1);
  }
  return stepped <= survivor_skew(scenario.workload.lease);
}

std::vector<std::string> promises_of(const LockKind& lock, Ground::Bounds bounds) {
  if (lock.latch) return {"latch"};
  // Nobody is granted where no majority is left, and old primaries keep what they have.
  if (lock.survives_failover) {
    return {"lease-exclusion", "no-foreign-release", "told-in-time", "fencing-monotonic"};
  }
  std::vector<std::string> checks = {"lease-exclusion", "no-foreign-release", "progress"};
  // Where servers forget, what they hold and what was promised part by themselves.
  if (bounds == Ground::Bounds::promised && !lock.historic && find_decoder(lock.records_of()) != nullptr)
    checks.emplace_back("truth");
  if (lock.promises_validity && is_watched(lock)) checks.emplace_back("told-in-time");
  if (lock.tokens) checks.emplace_back("fencing-monotonic");
  if (lock.fair && bounds == Ground::Bounds::promised && !lock.historic) checks.emplace_back("fair-order");
  // A published design may leave a lock for somebody who never comes.
  if (bounds == Ground::Bounds::promised && !lock.historic) checks.emplace_back("at-rest");
  return checks;
}

std::vector<std::string> marks_of(const LockKind& lock) {
  if (lock.latch) return {"latch.set", "latch.counted", "latch.waiting", "latch.opened", "client.crashed"};
  std::vector<std::string> marks = {"lock.granted", "lock.waiting", "lock.refused", "lock.released",
                                    "client.crashed"};
  if (lock.promises_validity && is_watched(lock)) marks.insert(marks.end(), {"lock.renewed", "lock.lost"});
  return marks;
}

Ground ground_of(const LockKind& lock) {
  Ground ground;
  ground.lock = &lock;
  ground.bounds = lock.historic ? Ground::Bounds::anything : Ground::Bounds::promised;
  return ground;
}

Ground ground_of_file(const std::string& path) {
  Value document = read_toml_file(path);
  erase_key(document, "variant");
  const Value* const lock = document.find("lock");
  const Value* const kind = lock == nullptr ? nullptr : lock->find("kind");
  if (kind == nullptr || kind->kind != Value::Kind::text)
    throw BadScenario(document.at, "the file names no lock, expected [lock] with `kind`");
  const LockKind* const found = find_lock_kind(kind->text);
  if (found == nullptr)
    throw BadScenario(kind->at, "`" + kind->text +
                                    "` is no lock that can be hunted, expected one of `holdfast list locks`");
  Ground ground = ground_of(*found);
  ground.given = std::move(document);
  ground.file = path;
  require_world(parse_base(least_case(ground), path), /*embedded=*/true);
  keep_promises(ground.given);
  // Who brings faults of his own wants to see what they do.
  if (ground.given.find("fault") != nullptr) ground.bounds = Ground::Bounds::anything;
  return ground;
}

}  // namespace holdfast::sim
