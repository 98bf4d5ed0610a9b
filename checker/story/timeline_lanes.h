// Timeline lanes: who has a lane on the page, and what stands on it besides operations and holds: servers'
// records, and times in which a process was down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checker/history/history.h"
#include "checker/holds/holds.h"

namespace holdfast::checker {

class TimelineLanes {
 public:
  struct Lane {
    std::string name;  // printable
    bool node = false;
  };

  explicit TimelineLanes(const History& history);

  const std::vector<Lane>& lanes() const { return lanes_; }
  // Of the event's client thread or server; kNowhere: a fault, a mark, or what the harness did.
  std::size_t of(const Event& event) const;
  std::size_t of_process(Symbol process) const { return of_process_[process]; }
  std::size_t of_node(Symbol node) const { return of_node_[node]; }

 private:
  const History& history_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> of_process_, of_node_;  // by symbol
};

// A time in which nothing ran on a lane. to_ns may be kForever.
struct Outage {
  std::size_t lane = kNowhere;
  std::int64_t from_ns = 0, to_ns = kForever;
  std::string what;    // printable
  bool loses = false;  // what a server had on record is gone
};
std::vector<Outage> outages_of(const History& history, const TimelineLanes& lanes);

// What a server had on record, as the ledger tells: from a grant that took effect to its removal, to the next
// grant of the key there, to where the lease ends as the client counts it, or to the server's crash.
struct ServerRecord {
  std::size_t granted = kNowhere;  // position of the reply
  std::int64_t to_ns = kForever;
};
std::vector<ServerRecord> server_records(const History& history, const std::vector<Hold>& holds,
                                         const TimelineLanes& lanes, const std::vector<Outage>& outages);

// An event of the ledger: what a command did at a server.
inline bool is_store_event(const Event& event) {
  return event.f >= Function::store_grant && event.f <= Function::store_extend;
}

}  // namespace holdfast::checker
