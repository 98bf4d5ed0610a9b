// A listening port of a simulated host, with the connections that nobody accepted yet.
#pragma once

#include <deque>

#include "sim/world/doorway.h"
#include "sim/world/sim_link.h"

namespace holdfast::sim {

class SimListener final : public Doorway {
 public:
  // REQUIRES: the port is free.
  SimListener(SimNetwork& network, Endpoint endpoint);
  ~SimListener() override { close(); }
  SimListener(const SimListener&) = delete;
  SimListener& operator=(const SimListener&) = delete;

  Connected accept(MonotonicTime deadline) override;
  Endpoint endpoint() const override { return endpoint_; }
  void close() noexcept override;

  void screen(Screen screen) override { screen_ = std::move(screen); }
  void screen_changed(const std::vector<std::string>&) override {}  // asked each time
  Knock knock(const std::string& address) const { return screen_ ? screen_(address) : Knock::let_in; }

  // A connection was asked for; false: refused.
  bool offer(SimEnd& end);

 private:
  // Outlives the listener while a task is in accept().
  struct State {
    SimNetwork* network;               // nullptr when closed
    std::deque<SimEnd*> backlog = {};  // one reference each
    Fiber* acceptor = nullptr;
  };

  std::shared_ptr<State> state_;
  SimHost& host_;
  const Endpoint endpoint_;
  Screen screen_;
};

}  // namespace holdfast::sim
