// ProcessImpl: a process of a world, and the Runtime of its tasks. The same for both worlds: they differ in
// the network and in wait_fd, which the world hands in.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "sim/world/scheduler.h"
#include "sim/world/world.h"

namespace holdfast::sim {

struct ProcessSetup {
  std::string name, address;
  Rng random{0};
  std::int64_t monotonic_origin_ns = 0;  // what its monotonic clock shows when the world's clock shows 0
  std::int64_t wall_origin_ns = 0;
  bool may_drift = true;
  std::function<bool(int fd, FdInterest, std::int64_t deadline_ns)>
      wait_fd;                                 // empty: no descriptors in this world
  std::function<void(ProcessImpl&)> on_crash;  // breaks its connections
};

class ProcessImpl final : public Process, public Runtime {
 public:
  ProcessImpl(Scheduler& scheduler, ProcessSetup setup);
  ~ProcessImpl() override;

  // --- Process
  const std::string& name() const override { return setup_.name; }
  const std::string& address() const override { return setup_.address; }
  Runtime& runtime() override { return *this; }
  Network& network() override { return *network_; }
  void start(std::string_view role, std::function<void()> body) override;
  void pause() override;
  void resume() override;
  void pause_role(std::string_view role) override;
  void resume_role(std::string_view role) override;
  bool paused() const override { return pauses_ > 0; }
  void crash() override;
  bool alive() const override { return !dead_; }
  void step_wall(Duration by) override;
  void set_drift(std::int64_t ppm) override;
  std::int64_t world_ns(MonotonicTime time) const override { return to_world(time); }

  // --- Runtime
  MonotonicTime now() const noexcept override;
  WallTime wall_now() const noexcept override;
  Task spawn(std::string_view role, std::function<void()> body) override;
  TaskId task_id() const noexcept override;
  Parker& parker() noexcept override;
  std::any& task_local_slot(const void* key) override;
  void sleep_until(MonotonicTime deadline) override;
  void yield() override;
  std::uint64_t random() override { return setup_.random.next(); }
  bool wait_fd(int fd, FdInterest interest, MonotonicTime deadline) override;
  std::unique_ptr<MutexImpl> make_mutex() override;
  std::unique_ptr<ConditionImpl> make_condition() override;

  // --- for the world, the scheduler and the network
  void set_network(std::unique_ptr<Network> network) { network_ = std::move(network); }
  Scheduler& scheduler() const { return scheduler_; }
  bool dead() const { return dead_; }
  bool blocks(const FiberTask& task) const {
    return !dead_ && (pauses_ > 0 || (!paused_roles_.empty() && paused_roles_.contains(task.role)));
  }
  void hold(FiberTask& task) { held_.push_back(task); }
  LinkedList<FiberTask> take_held() { return std::exchange(held_, {}); }
  void task_started(FiberTask&) { ++tasks_; }
  void task_ended(FiberTask&) { --tasks_; }
  int tasks() const { return tasks_; }
  // The world's time of a moment on this process' clock; kNever -> INT64_MAX.
  std::int64_t to_world(MonotonicTime time) const;

 private:
  std::int64_t monotonic_ns() const;  // rounded down

  Scheduler& scheduler_;
  ProcessSetup setup_;
  std::unique_ptr<Network> network_;
  bool dead_ = false;
  int pauses_ = 0, tasks_ = 0;
  std::map<std::string, int, std::less<>> paused_roles_;
  LinkedList<FiberTask> held_;  // ready, but paused
  // Its clocks run at (1 + ppm/10^6) from the moment (world, monotonic) on.
  std::int64_t ppm_ = 0, base_world_ns_ = 0, base_monotonic_ns_ = 0;
  std::int64_t wall_offset_ns_ = 0;  // wall - monotonic
};

}  // namespace holdfast::sim
