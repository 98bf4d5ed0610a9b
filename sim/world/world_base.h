// What the two worlds share: the processes, their machines, and run().
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/past.h"
#include "sim/world/process.h"
#include "sim/world/rare.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class WorldBase : public World {
 public:
  ~WorldBase() override;

  std::uint64_t seed() const override { return seed_; }
  Process& add_process(std::string name) override { return add(std::move(name), false); }
  Process& fork_process(Process& parent, std::string name) override;
  Process& harness() override { return *processes_.front(); }
  std::string name_at(std::string_view address) const override;
  std::vector<std::string> addresses() const override;
  void on_new_address(std::function<void()> told) override { on_new_address_ = std::move(told); }
  void run(std::function<void()> body) override;
  Rng rng(std::string_view stream) const override {
    return decisions_ != nullptr ? decisions_->stream(seed_, stream) : Rng::derive(seed_, stream);
  }
  Trace& trace() override { return trace_; }
  virtual Past* past() const { return nullptr; }  // past_of()
  // As ::make_rare().
  void make_rare(const RareOptions& options, Chains* chains, std::function<bool(std::string_view)> whose);

 protected:
  WorldBase(std::uint64_t seed, Decisions* decisions) : seed_(seed), decisions_(decisions) {}

  // The constructor of the real class adds the harness first; its destructor calls end_processes().
  FiberProcess& add(std::string name, bool harness);
  void end_processes();

  virtual Scheduler& scheduler() = 0;
  virtual FdWaiter* fds() = 0;
  virtual std::string next_address(std::size_t index) = 0;
  virtual ProcessClock next_clock(std::size_t index) = 0;
  virtual std::unique_ptr<ProcessNetwork> make_network(FiberProcess& process) = 0;

  const std::uint64_t seed_;
  Decisions* const decisions_;  // may be null
  Trace trace_;
  std::int64_t run_began_ = 0;

 private:
  // What stays when a process is killed and started again.
  struct Machine {
    std::string address;
    ProcessClock clock;
    std::uint64_t incarnation = 0;
    FiberProcess* process = nullptr;
  };
  Machine& machine(const std::string& name);
  std::string who_waits();
  std::string who_spins();
  void make_rare(FiberProcess& process);

  std::map<std::string, Machine, std::less<>> machines_;
  std::map<std::string, std::string, std::less<>> by_address_;
  std::vector<std::unique_ptr<FiberProcess>> processes_;  // harness first
  bool ran_ = false;
  std::function<void()> on_new_address_;
  RareOptions rare_;
  Chains* chains_ = nullptr;
  std::function<bool(std::string_view)> whose_;  // empty: nothing is rare
};

}  // namespace holdfast::sim
