// RunObserver: is shown an embedded run while it goes, and changes nothing of it: its history and its trace
// are what they are without one.
//
// It is called on tasks of the run, must not park, and draws nothing. What it is given lives until
// run_once() returns.
#pragma once

#include <string>

namespace holdfast::sim {

class Cluster;
class Proxy;
class Recorder;
class World;
namespace embedded {
class KeyspaceWitness;
}

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // No server runs yet.
  virtual void begins(World& world, Proxy& proxy, Cluster& cluster) = 0;
  // Whom the server of that name tells what it has, before each of its starts. It passes all on to `also`
  // (null: nobody).
  virtual embedded::KeyspaceWitness* witness(const std::string& node, embedded::KeyspaceWitness* also) = 0;
  // The servers are up; no client runs yet.
  virtual void records(Recorder& recorder) = 0;
  // It is over: what still happens only ends the processes.
  virtual void ends() = 0;
};

}  // namespace holdfast::sim
