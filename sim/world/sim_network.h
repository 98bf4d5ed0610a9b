// Simulated links: the Network of the embedded world.
//
// A connection is two one-way pipes. Bytes written arrive one hop later, in order; a pipe takes no more than
// its window until the reader has made room. What is in flight when its writer dies still arrives, then the
// end of the stream (a reset if the dead side had bytes that it never read, as a kernel does).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "lib/net/network.h"
#include "sim/world/process.h"
#include "sim/world/trace.h"

namespace holdfast::sim {

class SimListener;
class SimStream;

// All links of one world.
class Fabric {
 public:
  Fabric(Scheduler& scheduler, Trace& trace, Duration hop)
      : scheduler_(scheduler), trace_(trace), hop_ns_(hop.count()) {}

  std::unique_ptr<Network> network_of(ProcessImpl& process);
  void crashed(ProcessImpl& process);  // breaks its connections off and closes its doors

  Scheduler& scheduler() { return scheduler_; }
  Trace& trace() { return trace_; }
  std::int64_t hop_ns() const { return hop_ns_; }

 private:
  friend class SimListener;
  friend class SimStream;
  friend class SimNetwork;
  Scheduler& scheduler_;
  Trace& trace_;
  std::int64_t hop_ns_;
  std::map<Endpoint, SimListener*> listeners_;
  std::map<std::uint64_t, SimStream*> streams_;  // open ends, by number
  std::map<std::string, std::uint16_t> next_port_;
  std::uint64_t next_stream_ = 1;
};

}  // namespace holdfast::sim
