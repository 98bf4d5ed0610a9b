// Chains: an order of messages and timers, as priorities are one of tasks (order.h).
//
// Where every message has a latency of its own, only one task can run at most moments, and which of
// several goes on decides little. What decides is when messages come. So the order chooses delays. What
// goes one way on a link is a chain, and so are the timers of a client's tasks in one role. About half of
// all chains have a priority below the others: what comes up in them comes a little later, always the
// same. At a few drawn moments one that comes up is put down below all others: it comes later by up to
// three leases, drawn log-uniform, and what comes after it in its chain later still. Then its chain has
// another priority.
//
// Source: priorities for messages with change points, PCTCP: Ozkan, Majumdar, Niksic, Tabaei Befrouei,
// Weissenbacher: Randomized Testing of Distributed Systems with Probabilistic Guarantees, OOPSLA 2018. That
// orders messages alone; here time passes, so that an order is chosen by delays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "lib/runtime/time.h"
#include "sim/world/rng.h"

namespace holdfast::sim {

struct ChainOptions {
  Duration least = std::chrono::microseconds(10);
  Duration steady = std::chrono::milliseconds(10);   // what a priority comes to at most
  Duration longest = std::chrono::seconds(9);        // of who is put down
  Duration timers = std::chrono::milliseconds(100);  // the same of timers, which are put down less far
  // How many are put down at most, and after how many that came up each of them at most.
  std::uint64_t changes = 4, apart = 256;
};

class Chains {
 public:
  // Called when somebody is put down.
  using Told = std::function<void(std::string_view chain, Duration by)>;

  Chains(const ChainOptions& options, const Rng& rng, Told told = {});

  // One more of that chain comes up: how much later it is to come.
  Duration message(std::string_view chain) { return next(chain, options_.longest); }
  Duration timer(std::string_view chain) { return next(chain, options_.timers); }

 private:
  struct Chain {
    Rng rng;
    Duration priority{};
  };
  Duration next(std::string_view name, Duration longest);
  void plan();

  const ChainOptions options_;
  const Rng root_;
  Rng changes_;
  const Told told_;
  std::map<std::string, Chain, std::less<>> chains_;
  std::uint64_t left_, until_ = 0;  // changes; what still comes up before the next
};

// As likely between 1 and 2 ms as between 1 and 2 s; one draw, of quarters of octaves.
// REQUIRES: 0 < low <= high
Duration draw_log_uniform(Rng& rng, Duration low, Duration high);

}  // namespace holdfast::sim
