#include "sim/world/process.h"

#include "lib/runtime/check.h"

namespace holdfast::sim {

FiberProcess::FiberProcess(Options options, Scheduler& scheduler, ProcessClock& clock, Trace& trace, Rng rng,
                           FdWaiter* fds)
    : options_(std::move(options)),
      scheduler_(scheduler),
      clock_(clock),
      trace_(trace),
      group_(options_.name, clock),
      runtime_(scheduler, group_, rng, fds) {}

void FiberProcess::note(std::string_view what) {
  trace_.add(static_cast<std::uint64_t>(scheduler_.now()));
  trace_.add(options_.name);
  trace_.add(what);
}

void FiberProcess::start(std::string_view role, std::function<void()> body) {
  HF_CHECK(alive(), "a task is started in a process that was killed");
  scheduler_.spawn(group_, role, std::move(body));
}

void FiberProcess::pause() {
  HF_CHECK(!options_.harness, "the harness is never paused");
  if (!alive()) return;
  note("pause");
  ++group_.pauses;
  scheduler_.update_pauses(group_);
}

void FiberProcess::resume() {
  if (!alive()) return;
  HF_CHECK(group_.pauses > 0, "as many resumes as pauses");
  note("resume");
  --group_.pauses;
  scheduler_.update_pauses(group_);
}

void FiberProcess::pause_role(std::string_view role) {
  HF_CHECK(!options_.harness, "the harness is never paused");
  if (!alive()) return;
  note("pause role");
  note(role);
  ++group_.role(role).pauses;
  scheduler_.update_pauses(group_);
}

void FiberProcess::resume_role(std::string_view role) {
  if (!alive()) return;
  HF_CHECK(group_.role(role).pauses > 0, "as many resumes as pauses");
  note("resume role");
  note(role);
  --group_.role(role).pauses;
  scheduler_.update_pauses(group_);
}

std::uint64_t FiberProcess::refuse_tasks(std::function<bool(std::string_view role)> which) {
  note("refuse tasks");
  if (Past* const past = scheduler_.past()) past->reach(group_);
  group_.refusals.emplace(++group_.last_refusal, std::move(which));
  return group_.last_refusal;
}

void FiberProcess::allow_tasks(std::uint64_t refusal) {
  if (group_.refusals.erase(refusal) > 0) note("allow tasks");
}

void FiberProcess::fork_from(FiberProcess& parent) {
  parent.note("fork");
  note("fork of");
  group_.forks = parent.group_.forks + 1;
  runtime_.fork_from(parent.runtime_, options_.name);
}

void FiberProcess::end() {
  if (!alive()) return;
  group_.dead = true;
  network_->break_off();
  scheduler_.kill(group_);
}

void FiberProcess::crash() {
  HF_CHECK(!options_.harness, "the harness is never crashed");
  if (!alive()) return;
  note("crash");
  end();
}

void FiberProcess::step_wall(Duration by) {
  note("step");
  trace_.add(static_cast<std::uint64_t>(by.count()));
  if (Past* const past = scheduler_.past()) past->reach(group_);
  clock_.step_wall(by);
}

void FiberProcess::set_drift(std::int64_t ppm) {
  note("drift");
  trace_.add(static_cast<std::uint64_t>(ppm));
  if (Past* const past = scheduler_.past()) past->reach(group_);
  clock_.set_drift(ppm, scheduler_.now());
  scheduler_.clock_changed(clock_);
}

std::int64_t FiberProcess::world_ns(MonotonicTime time) const {
  return clock_.moment_of(time) - *options_.run_began;
}

}  // namespace holdfast::sim
