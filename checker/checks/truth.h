// What really stood in the servers' keyspaces, compared with what was claimed and with the ledger. A
// simulated world knows it and writes it into the history (node "r1"; process: who did it):
//
//   {"process":"loading/r1","type":"info","f":"keyspace","node":"r1"}
//   {"process":"command/r1","type":"info","f":"record","key":"k","id":"c1-7","value":1,"valid_until":5010,..}
//   {"process":"expiry/r1","type":"info","f":"record","key":"k","id":"c1-7","value":0,..}
//
// `keyspace`: the server begins to be watched, or its memory was replaced: nothing stands but what is told
// next. Mode "quorum": the lock lives on a majority of all servers watched. Mode "process": a record is
// that of a whole process, which its id names (record_of_process), or of all acquisitions whose commands name
// it as the value of their ledger entries. Mode "free": a record is a number, how many permits are free, in
// `permits` (truth_counts.h). `record` with value 1: the record of that acquisition stands from now to
// `valid_until` (absent: for ever; where the server's clock drifts, as if it did not); again: with another
// end. Mode "read" and `permits` say what others may hold beside it; records of one `owner` never exclude
// each other. Value 0: it is gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/checks/check.h"

namespace holdfast::checker {

inline constexpr std::string_view kKeyspace = "keyspace";
inline constexpr std::string_view kRecord = "record";
inline constexpr std::string_view kOfAQuorum = "quorum";
inline constexpr std::string_view kOfAProcess = "process";
inline constexpr std::string_view kOfFreePermits = "free";
// The id of the record that stands for whatever `process` ("c1") holds of `key`.
inline std::string record_of_process(std::string_view process, std::string_view key) {
  return std::string(process) + " at " + std::string(key);
}
// The mode of a ledger's command that does not say for whom it was sent: its id is a guess, what its client
// acquired last.
inline constexpr std::string_view kOfItsClient = "client";

// Who changed a keyspace: the process is "WHO/NODE".
inline constexpr std::string_view kByCommand = "command";
inline constexpr std::string_view kByReplication = "replication";
inline constexpr std::string_view kByExpiry = "expiry";
inline constexpr std::string_view kByLoading = "loading";

// What is wrong at one event.
inline Witness witness_at(const History& history, std::string kind, std::size_t position, std::string why) {
  const Event& event = history.events()[position];
  Witness witness;
  witness.kind = std::move(kind);
  witness.why = std::move(why);
  witness.events = {position};
  witness.key = history.text(event.key);
  witness.from_ns = witness.to_ns = event.time_ns;
  return witness;
}

struct Truth {
  bool watched = false;    // the history has `keyspace` events
  std::size_t claims = 0;  // that were looked at
  std::size_t stood = 0;   // those whose record stood at each instant
  // Those whose record a fault took away: a crash, a failover, a clock that stepped.
  std::size_t by_fault = 0;
  std::size_t by_others = 0;  // those whose record a command sent for another acquisition took away
  std::size_t unplaced = 0;   // claims that name no server
  std::size_t lineages = 0;   // keys that were claimed on two servers, of a lock that lives on one
  // Claims that begin while another owner claims the same record, which names neither.
  std::size_t shared = 0;
  std::vector<Witness> wrong;  // what no fault and no command of others explains
  // Then claims of one key cannot conflict, and lease-exclusion must hold.
  bool all_stood() const {
    return watched && wrong.empty() && stood == claims && unplaced == 0 && lineages == 0 && shared == 0;
  }
};

Truth compare_with_truth(const History& history, const CheckContext& context);

}  // namespace holdfast::checker
