// Plays a case against one server (or a pair) and writes down what came back.
#pragma once

#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/testing/oracle_case.h"

namespace holdfast::sim::oracle {

// The server under test, as the player sees it.
class Target {
 public:
  virtual ~Target() = default;
  virtual Runtime& runtime() = 0;
  virtual Network& network() = 0;
  virtual Endpoint server() = 0;
  virtual Endpoint second_server() = 0;           // of cases with a replica
  virtual std::uint16_t bus_port() { return 0; }  // of nodes of a Redis Cluster
  virtual std::uint16_t second_bus_port() { return 0; }
  virtual WallTime wall() = 0;  // of the servers
  virtual void advance(Duration by) = 0;
  // Called while something is awaited that does not come at once: lets a moment pass and makes periodic work
  // of the servers due, without time passing on their wall clocks where that can be had.
  virtual void nudge() = 0;
};

// One line a step: the step and what came back.
using Transcript = std::vector<std::string>;

// [parks] `protocol`: 3 begins each connection with HELLO 3. Never throws for what a server does: a broken
// connection is a line of the transcript.
Transcript play(const std::vector<std::string>& steps, Target& target, int protocol = 2);

// What differs, line by line; "" when nothing does.
std::string differences(const Transcript& embedded, const Transcript& real);

}  // namespace holdfast::sim::oracle
