// Simulated network: streams between the processes of an embedded world.
//
// Every chunk, end of stream and reset takes one `hop`; a connect takes a round trip. Each direction is first
// in, first out, with a bounded window: a writer waits while its peer has that much unread. Connections of a
// killed process end as under Linux: what was written arrives, then the end of the stream, or a reset where
// unread data was thrown away; a peer that writes to it later gets a reset. Deliveries are folded into the
// world's trace.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "sim/world/process.h"
#include "sim/world/trace.h"
#include "sim/world/virtual_time.h"

namespace holdfast::sim {

inline constexpr std::size_t kSimWindowBytes = 256 * 1024;
inline constexpr std::size_t kSimBacklog = 65536;

class SimLink;
class SimListener;
class SimNetwork;
struct SimEnd;

struct SimHost {
  std::string address;
  std::uint16_t next_port = 32768;
  std::map<std::uint16_t, SimListener*> listeners;
  std::set<std::uint16_t> ports;  // of open ends that connected
};

// What all processes share.
struct SimFabric {
  Scheduler& scheduler;
  VirtualTime& time;
  Trace& trace;
  Duration hop;
  std::uint64_t last_link = 0;
  std::map<std::string, SimHost, std::less<>> hosts = {};      // by address; entries stay
  std::map<std::string, std::string, std::less<>> names = {};  // further names of hosts: name -> address

  void post(EventSink& sink, std::uint32_t what, std::uint32_t value) {
    time.post(scheduler, hop, sink, what, value);
  }
};

class SimNetwork final : public ProcessNetwork {
 public:
  SimNetwork(SimFabric& fabric, ProcessGroup& group, SimHost& host)
      : fabric_(fabric), group_(group), host_(host) {}

  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  // The host is this process' own address, "", "0.0.0.0", "127.0.0.1" or "localhost" (all the same), or a
  // name that belongs to no other process: it becomes a name of this one.
  std::unique_ptr<Listener> listen(const Endpoint& at) override;
  void break_off() noexcept override;

  // Whether the caller may go on: false when this process was killed and another one's task calls; throws
  // TaskCancelled, or returns false while unwinding, when the caller's own process was killed.
  bool may_act() { return !fabric_.scheduler.cancelled() && !group_.dead; }

  SimFabric& fabric() { return fabric_; }
  ProcessGroup& group() { return group_; }
  SimHost& host() { return host_; }

 private:
  friend class SimLink;
  friend class SimListener;
  const std::string& resolve(const std::string& host) const;
  std::uint16_t free_port();

  SimFabric& fabric_;
  ProcessGroup& group_;
  SimHost& host_;
  SimEnd *first_end_ = nullptr, *last_end_ = nullptr;  // open ends of this process, oldest first
};

}  // namespace holdfast::sim
