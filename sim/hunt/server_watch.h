// ServerWatch: what a run comes through inside the servers: branches of the scripts of locks, and states of
// the records of locks.
//
// A branch is one line after another within one script. A state is what stands under the keys of locks:
// which of them are there, of what type, how many elements each has, how long it still lives as a part of
// the lease; and how many own the lock. When one of them changes, so are what it was before, who came and
// who went (the same owner again, another of the same process, anybody else), and whose doing it was: a
// command's, replication's, the clock's.
//
// Names, owners and numbers are forgotten, but for powers of two: a state is the same in every run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/hunt/coverage.h"
#include "sim/scenario/run_observer.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {

class ServerWatch final : public RunObserver {
 public:
  explicit ServerWatch(const Scenario& scenario);  // outlives it; of one run
  ~ServerWatch() override;
  void begins(World& world, Proxy&, Cluster&) override { begins(world); }
  void begins(const World& world) { world_ = &world; }
  embedded::KeyspaceWitness* witness(const std::string& node, embedded::KeyspaceWitness* also) override;
  void records(Recorder&) override {}
  void ends() override {}

  // Each once, by moment, since the run began.
  std::vector<Feature> take_features();

 private:
  class Node;
  // A set of words that says yes of a few words that it has not got: one in 300 of those asked.
  class Sieve {
   public:
    bool insert(std::uint64_t word);  // true: it was not there

   private:
    std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>(1024);
  };
  void note(std::uint64_t word);

  const Scenario& scenario_;
  const World* world_ = nullptr;
  Sieve seen_;
  std::vector<Feature> found_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
};

}  // namespace holdfast::sim
