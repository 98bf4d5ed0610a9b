// All faults, in the order of `holdfast list faults`. A new one: its file, a declaration and a line here.
#include "sim/fault/fault.h"

namespace holdfast::sim {

// The network
FaultKind delay_fault();
FaultKind stall_fault();
FaultKind bandwidth_fault();
FaultKind slow_close_fault();
FaultKind cut_fault();
FaultKind refuse_fault();
FaultKind partition_fault();
FaultKind split_fault();
FaultKind reset_before_request_fault();
FaultKind reset_after_request_fault();
FaultKind reset_mid_reply_fault();
FaultKind corrupt_bytes_fault();
FaultKind drop_message_fault();
FaultKind error_reply_fault();
FaultKind streaming_server_fault();
FaultKind reorder_replies_fault();
FaultKind hold_message_fault();
FaultKind replication_lag_fault();
FaultKind stale_reads_fault();
FaultKind full_resync_fault();
// Processes
FaultKind crash_fault();
FaultKind power_loss_fault();
FaultKind restart_fault();
FaultKind promote_fault();
FaultKind demote_fault();
FaultKind shutdown_fault();
FaultKind failover_fault();
FaultKind sentinel_failover_fault();
FaultKind cluster_failover_fault();
FaultKind pause_client_fault();
FaultKind pause_watchdog_fault();
FaultKind pause_server_fault();
FaultKind thread_limit_fault();
FaultKind fork_client_fault();
// What servers do
FaultKind client_pause_fault();
FaultKind memory_full_fault();
FaultKind disk_full_fault();
FaultKind slow_fsync_fault();
FaultKind read_only_moment_fault();
FaultKind script_flush_fault();
FaultKind evict_key_fault();
FaultKind persist_key_fault();
FaultKind busy_script_fault();
FaultKind loading_fault();
FaultKind kill_connection_fault();
// Clocks
FaultKind clock_step_fault();
FaultKind clock_strobe_fault();
FaultKind clock_drift_fault();

const std::vector<FaultKind>& all_fault_kinds() {
  static const std::vector<FaultKind> kinds = {
      delay_fault(),
      stall_fault(),
      bandwidth_fault(),
      slow_close_fault(),
      cut_fault(),
      refuse_fault(),
      partition_fault(),
      split_fault(),
      reset_before_request_fault(),
      reset_after_request_fault(),
      reset_mid_reply_fault(),
      corrupt_bytes_fault(),
      drop_message_fault(),
      error_reply_fault(),
      streaming_server_fault(),
      reorder_replies_fault(),
      hold_message_fault(),
      replication_lag_fault(),
      stale_reads_fault(),
      full_resync_fault(),
      crash_fault(),
      power_loss_fault(),
      restart_fault(),
      promote_fault(),
      demote_fault(),
      shutdown_fault(),
      failover_fault(),
      sentinel_failover_fault(),
      cluster_failover_fault(),
      pause_client_fault(),
      pause_watchdog_fault(),
      pause_server_fault(),
      thread_limit_fault(),
      fork_client_fault(),
      client_pause_fault(),
      memory_full_fault(),
      disk_full_fault(),
      slow_fsync_fault(),
      read_only_moment_fault(),
      script_flush_fault(),
      evict_key_fault(),
      persist_key_fault(),
      busy_script_fault(),
      loading_fault(),
      kill_connection_fault(),
      clock_step_fault(),
      clock_strobe_fault(),
      clock_drift_fault(),
  };
  return kinds;
}

const FaultKind* find_fault_kind(std::string_view name) {
  for (const FaultKind& kind : all_fault_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace holdfast::sim
