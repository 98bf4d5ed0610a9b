// WorkloadKind: one row of `holdfast list workloads`. A workload registers itself with everything that is its
// own: the keys of its [workload] table, its checks and marks, what it costs when the lock fails, and how to
// make it. Its file has all of it; workload_kinds.cc has the list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/client/run_events.h"
#include "sim/client/workload.h"
#include "sim/settings/setting.h"

namespace holdfast::sim {

// A key that is right by itself, and wrong beside the others or with this kind of lock.
struct WorkloadProblem {
  std::string_view key;                     // whose value is wrong
  std::string what;                         // "`count` is 5, expected at most `clients`, 3"
  bool (*able)(const LockKind&) = nullptr;  // the kinds of lock with which it would be right
};

struct WorkloadKind {
  std::string_view name;
  std::string_view about;          // one line
  std::vector<Setting> keys = {};  // of its own; those that every workload has are WorkloadOptions
  // Its clients are programs, processes of the machine: real world only, no fault that reaches into a client,
  // no key of [workload] about what a client of ours does; its lock is `external`, and no other workload's.
  bool programs = false;
  std::string_view engine = "";  // whose servers it needs, whatever the lock; "": those of the lock
  bool latch = false;            // it drives count-down latches, and nothing else does
  std::vector<std::string_view> checks = {};  // about what it does; they mean nothing elsewhere
  std::vector<MarkInfo> marks = {};           // that only it hits
  std::string_view cost = "";  // the one of its figures that should be 0: "oversold"; "": it has none
  std::optional<WorkloadProblem> (*problem)(const WorkloadOptions& options, const LockKind& lock) = nullptr;
  std::unique_ptr<Workload> (*make)(World& world, Recorder& recorder,
                                    const WorkloadOptions& options) = nullptr;
};

const std::vector<WorkloadKind>& all_workload_kinds();          // in the order of `holdfast list workloads`
const WorkloadKind* find_workload_kind(std::string_view name);  // nullptr: none

}  // namespace holdfast::sim
