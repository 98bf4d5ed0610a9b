#include "sim/client/run_events.h"

#include "lib/runtime/check.h"

namespace holdfast::sim {

const std::vector<RunEventInfo>& all_run_events() {
  using Kind = RunEventKind;
  static const std::vector<RunEventInfo> kEvents = [] {
    std::vector<RunEventInfo> events = {
        {Kind::lock_requested, "lock.requested", "a client asks for a lock"},
        {Kind::lock_waiting, "lock.waiting", "an acquire was refused and its task starts to wait", true},
        {Kind::lock_queued, "lock.queued", "the server confirmed a place in the queue of a fair lock", true},
        {Kind::lock_granted, "lock.granted", "an acquire returned ok to a client", true},
        {Kind::lock_refused, "lock.refused", "an acquire failed, or its outcome is unknown"},
        {Kind::lock_renewed, "lock.renewed", "the server confirmed a renewal", true},
        {Kind::lock_renew_failed, "lock.renew-failed", "a renewal was not confirmed; it is tried again",
         true},
        {Kind::lock_lost, "lock.lost", "a client was told that its hold is lost", true},
        {Kind::lock_interrupted, "lock.interrupted", "a thread was interrupted while it holds a lock"},
        {Kind::lock_releasing, "lock.releasing", "a client begins to release"},
        {Kind::lock_released, "lock.released", "a release was confirmed"},
        {Kind::read, "read", "a client read the protected resource"},
        {Kind::write, "write", "a client wrote the protected resource"},
        {Kind::sell, "sell", "a client sold one"},
        {Kind::latch_set, "latch.set", "a count was set"},
        {Kind::latch_counted, "latch.counted", "one less is to be counted down"},
        {Kind::latch_waiting, "latch.waiting", "a client begins to wait for a latch"},
        {Kind::latch_opened, "latch.opened", "a client got through a latch"},
        {Kind::client_crashed, "client.crashed", "a client died"},
        {Kind::client_started, "client.started", "a client started, or started again"},
        {Kind::node_promoted, "node.promoted",
         "Sentinels, or an election of a Redis Cluster, have made a node a primary", true},
    };
    for (std::size_t i = 0; i < events.size(); ++i)
      HF_CHECK(static_cast<std::size_t>(events[i].kind) == i, "events stand in the order of RunEventKind");
    return events;
  }();
  return kEvents;
}

const RunEventInfo* find_run_event(std::string_view name) {
  for (const RunEventInfo& event : all_run_events()) {
    if (event.name == name) return &event;
  }
  return nullptr;
}

}  // namespace holdfast::sim
