// Run events: what a trigger, a mark or a live display may wait for, in one table. The recorder publishes
// them, the parser of scenario files knows them from here, and `holdfast list events` shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

enum class RunEventKind : std::uint8_t {
  lock_requested,
  lock_waiting,
  lock_queued,
  lock_granted,
  lock_refused,
  lock_renewed,
  lock_renew_failed,
  lock_lost,
  lock_interrupted,
  lock_releasing,
  lock_released,
  read,
  write,
  sell,
  latch_set,
  latch_counted,
  latch_waiting,
  latch_opened,
  client_crashed,
  client_started,
  node_promoted,
};

struct MarkInfo {
  std::string name, about;
};

struct RunEventInfo {
  RunEventKind kind;
  std::string_view name;    // "lock.granted"
  std::string_view about;   // one line
  bool names_node = false;  // tells at which node, so that a trigger may ask for one
};

const std::vector<RunEventInfo>& all_run_events();  // in the order of RunEventKind
inline const RunEventInfo& info_of(RunEventKind kind) {
  return all_run_events()[static_cast<std::size_t>(kind)];
}
inline std::string_view to_string(RunEventKind kind) { return info_of(kind).name; }
const RunEventInfo* find_run_event(std::string_view name);  // nullptr: none

}  // namespace holdfast::sim
