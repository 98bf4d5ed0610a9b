// GuardedNetwork: the sockets of one process of the real world. They end with their process: after a crash
// nothing more leaves them, and the peers see their ends, although all processes of a world share one process
// of the system.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "lib/net/socket_network.h"
#include "sim/world/process.h"

namespace holdfast::sim {

class GuardedNetwork final : public ProcessNetwork {
 public:
  GuardedNetwork(Scheduler& scheduler, FiberProcess& process);
  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  std::unique_ptr<Listener> listen(const Endpoint& at) override;
  void break_off() noexcept override;

 private:
  friend class GuardedStream;
  friend class GuardedListener;
  Connected guard(Connected connected);
  // False: the call answers `closed`. Throws TaskCancelled when the caller's own process was killed.
  bool may_act() { return !scheduler_.cancelled() && !group_.dead; }

  Scheduler& scheduler_;
  ProcessGroup& group_;
  Runtime& runtime_;
  SocketNetwork sockets_;
  std::map<std::uint64_t, Stream*> streams_;  // open ones, in the order of their creation
  std::map<std::uint64_t, Listener*> listeners_;
  std::uint64_t next_ = 1;
  int listening_fd_ = -1;  // of the listener that was made last
};

}  // namespace holdfast::sim
