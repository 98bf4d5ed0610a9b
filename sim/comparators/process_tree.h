// What faults do to a server that has processes of its own: PostgreSQL has one for each connection, each in a
// session of its own, which no signal to the server's group reaches.
#pragma once

#include <vector>

#include "lib/testing/server/child_process.h"

namespace holdfast::sim {

class ProcessTree {
 public:
  // All of them stand still when it returns, also what they start meanwhile (one whose disk does not
  // answer: after ten seconds). The guardian knows those that do: nothing else would end one that stands
  // still when the harness is killed.
  void pause(ChildProcess& root);
  void resume(ChildProcess& root);
  // SIGKILL to all; returns when none is left (a process whose disk does not answer: after ten seconds).
  void kill(ChildProcess& root);
  // The same, but asks the root first, by a signal at which it ends with all that it has started, and gives
  // it ten seconds. One that stands still is not asked.
  void end(ChildProcess& root, int signal);

 private:
  std::vector<int> paused_;  // without the root
};

}  // namespace holdfast::sim
