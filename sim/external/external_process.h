// ExternalProcess: a foreign client as faults see it. Its name and its clocks are those of a process of the
// world that runs nothing; to pause it is to stop the program.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "sim/external/program.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class ExternalProcess final : public Process {
 public:
  // `steps`: moves the wall clock of its programs.
  explicit ExternalProcess(Process& inner, std::function<void(Duration by)> steps = {})
      : inner_(inner), steps_(std::move(steps)) {}

  // From now on `program` is what is paused. It may be paused already, before it has run a step.
  void runs(Program* program) {
    program_ = program;
    if (program_ != nullptr && inner_.paused()) program_->pause();
  }

  const std::string& name() const override { return inner_.name(); }
  const std::string& address() const override { return inner_.address(); }
  Runtime& runtime() override { return inner_.runtime(); }
  Network& network() override { return inner_.network(); }
  void start(std::string_view role, std::function<void()> body) override {
    inner_.start(role, std::move(body));
  }
  void pause() override {
    inner_.pause();
    if (program_ != nullptr) program_->pause();
  }
  void resume() override {
    inner_.resume();
    if (program_ != nullptr && !inner_.paused()) program_->resume();
  }
  void pause_role(std::string_view role) override { inner_.pause_role(role); }
  void resume_role(std::string_view role) override { inner_.resume_role(role); }
  bool paused() const override { return inner_.paused(); }
  std::uint64_t refuse_tasks(std::function<bool(std::string_view role)> which) override {
    return inner_.refuse_tasks(std::move(which));
  }
  void allow_tasks(std::uint64_t refusal) override { inner_.allow_tasks(refusal); }
  void crash() override { inner_.crash(); }
  bool alive() const override { return inner_.alive(); }
  void step_wall(Duration by) override {
    if (steps_) steps_(by);
    inner_.step_wall(by);
  }
  void set_drift(std::int64_t ppm) override { inner_.set_drift(ppm); }
  std::int64_t drift() const override { return inner_.drift(); }
  std::int64_t world_ns(MonotonicTime time) const override { return inner_.world_ns(time); }

 private:
  Process& inner_;
  const std::function<void(Duration by)> steps_;
  Program* program_ = nullptr;
};

}  // namespace holdfast::sim
