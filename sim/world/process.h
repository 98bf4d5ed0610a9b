// Process of either world: a group of fibers with a clock, a runtime and a network of its own.
#pragma once

#include <memory>
#include <string>

#include "sim/world/fiber_runtime.h"
#include "sim/world/scheduler.h"
#include "sim/world/world.h"

namespace holdfast::sim {

// The Network of one process, as its process sees it.
class ProcessNetwork : public Network {
 public:
  // The process was killed: connections and listeners end as a kernel ends those of a killed process.
  virtual void break_off() noexcept = 0;
};

class FiberProcess final : public Process {
 public:
  struct Options {
    std::string name;
    std::string address;
    bool harness = false;
    const std::int64_t* run_began = nullptr;  // on the scheduler's clock
  };
  FiberProcess(Options options, Scheduler& scheduler, ProcessClock& clock, Trace& trace, Rng rng,
               FdWaiter* fds);

  void set_network(std::unique_ptr<ProcessNetwork> network) { network_ = std::move(network); }
  ProcessGroup& group() { return group_; }
  // crash() for the end of the world: also for the harness.
  void end();

  const std::string& name() const override { return options_.name; }
  const std::string& address() const override { return options_.address; }
  Runtime& runtime() override { return runtime_; }
  Network& network() override { return *network_; }
  void start(std::string_view role, std::function<void()> body) override;
  void pause() override;
  void resume() override;
  void pause_role(std::string_view role) override;
  void resume_role(std::string_view role) override;
  bool paused() const override { return group_.pauses > 0; }
  std::uint64_t refuse_tasks(std::function<bool(std::string_view role)> which) override;
  void allow_tasks(std::uint64_t refusal) override;
  // From now on this is a fork of `parent`.
  void fork_from(FiberProcess& parent);
  void crash() override;
  bool alive() const override { return !group_.dead; }
  void step_wall(Duration by) override;
  void set_drift(std::int64_t ppm) override;
  std::int64_t drift() const override { return clock_.drift(); }
  std::int64_t world_ns(MonotonicTime time) const override;

 private:
  void note(std::string_view what);

  const Options options_;
  Scheduler& scheduler_;
  ProcessClock& clock_;
  Trace& trace_;
  ProcessGroup group_;
  FiberRuntime runtime_;
  std::unique_ptr<ProcessNetwork> network_;
};

}  // namespace holdfast::sim
