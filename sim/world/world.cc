// The two worlds: processes by name, one scheduler, one of the two drivers.
#include "sim/world/world.h"

#include <unistd.h>

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/runtime/check.h"
#include "lib/runtime/fibers/event_loop.h"
#include "sim/world/guarded_network.h"
#include "sim/world/process.h"
#include "sim/world/sim_network.h"
#include "sim/world/virtual_time.h"
#include "sim/world/world_base.h"

namespace holdfast::sim {

WorldBase::~WorldBase() = default;

WorldBase::Machine& WorldBase::machine(const std::string& name) {
  const auto it = machines_.find(name);
  if (it != machines_.end()) return it->second;
  std::string address = next_address(machines_.size());
  by_address_.emplace(address, name);
  Machine& made =
      machines_.emplace(name, Machine{std::move(address), next_clock(machines_.size()), 0, nullptr})
          .first->second;
  if (on_new_address_) on_new_address_();
  return made;
}

std::vector<std::string> WorldBase::addresses() const {
  std::vector<std::string> all;
  for (const auto& [address, name] : by_address_) all.push_back(address);
  return all;
}

FiberProcess& WorldBase::add(std::string name, bool harness) {
  Machine& machine = this->machine(name);
  if (machine.process != nullptr && machine.process->alive()) {
    throw std::logic_error("there is a process named '" + name + "' already");
  }
  ++machine.incarnation;
  const std::string stream = "process/" + name + "#" + std::to_string(machine.incarnation);
  FiberProcess::Options options;
  options.name = std::move(name);
  options.address = machine.address;
  options.harness = harness;
  options.run_began = &run_began_;
  processes_.push_back(std::make_unique<FiberProcess>(std::move(options), scheduler(), machine.clock, trace_,
                                                      rng(stream), fds()));
  machine.process = processes_.back().get();
  machine.process->set_network(make_network(*machine.process));
  make_rare(*machine.process);
  return *machine.process;
}

Process& WorldBase::fork_process(Process& parent, std::string name) {
  auto& forked = static_cast<FiberProcess&>(parent);
  const bool first = machines_.find(name) == machines_.end();
  Machine& its = machine(name);
  if (first) its.clock = machine(parent.name()).clock;  // one machine has one clock
  FiberProcess& child = add(std::move(name), false);
  child.fork_from(forked);
  return child;
}

void WorldBase::make_rare(const RareOptions& options, Chains* chains,
                          std::function<bool(std::string_view)> whose) {
  HF_CHECK(embedded() && !whose_, "once, in an embedded world");
  rare_ = options;
  chains_ = chains;
  whose_ = std::move(whose);
  for (const auto& process : processes_) make_rare(*process);
}

void WorldBase::make_rare(FiberProcess& process) {
  if (!whose_ || !whose_(process.name())) return;
  process.group().rare =
      std::make_shared<Rare>(rare_, chains_, process.name(), rng("rare/" + process.name()));
}

std::string WorldBase::name_at(std::string_view address) const {
  const auto it = by_address_.find(address);
  return it == by_address_.end() ? std::string() : it->second;
}

std::string WorldBase::who_waits() {
  std::string list;
  for (const auto& process : processes_) {
    const FiberGroup& group = process->group();
    for (const Fiber* fiber = group.first; fiber != nullptr; fiber = fiber->group_next) {
      list += "\n  " + fiber->role->name + " in " + group.name + " waits for " + fiber->waits_for +
              " since " + std::to_string(fiber->since - run_began_) + " ns" +
              (fiber->role->blocked ? " (paused)" : "");
    }
  }
  return list;
}

std::string WorldBase::who_spins() {
  std::string list;
  for (const auto& process : processes_) {
    const FiberGroup& group = process->group();
    for (const Fiber* fiber = group.first; fiber != nullptr; fiber = fiber->group_next) {
      if (fiber->state != Fiber::State::suspended) list += "\n  " + fiber->role->name + " in " + group.name;
    }
  }
  return list;
}

void WorldBase::end_processes() {
  for (std::size_t i = 1; i < processes_.size(); ++i) processes_[i]->end();
  if (!processes_.empty()) processes_.front()->end();
}

void WorldBase::run(std::function<void()> body) {
  HF_CHECK(!ran_, "a world runs once");
  ran_ = true;
  scheduler().adopt_thread();
  run_began_ = scheduler().now();
  bool done = false;
  std::exception_ptr error;
  harness().start("main", [&] {
    try {
      body();
    } catch (const TaskCancelled&) {  // run() throws the list of waiting tasks instead
    } catch (...) {
      error = std::current_exception();
    }
    done = true;
    scheduler().wake_main();
  });
  std::string waiting, escaped;
  scheduler().on_escape([&](std::string what) {
    if (escaped.empty()) escaped = std::move(what);
    if (!std::exchange(done, true)) scheduler().wake_main();
  });
  const bool finished = scheduler().run_until(done);
  const bool spins = !finished && scheduler().stands_still();
  if (!finished && (past() == nullptr || !past()->cut())) waiting = spins ? who_spins() : who_waits();
  done = true;
  end_processes();
  scheduler().on_escape({});
  if (!escaped.empty()) throw std::logic_error(escaped);
  if (spins) throw std::logic_error("time stands still, since tasks go on and on without waiting:" + waiting);
  if (!finished) throw std::logic_error("nothing is left to run, and the body still waits:" + waiting);
  if (error) std::rethrow_exception(error);
}

Past* past_of(const World& world) {
  const auto* const base = dynamic_cast<const WorldBase*>(&world);
  return base == nullptr ? nullptr : base->past();
}

namespace {

class EmbeddedWorld final : public WorldBase {
 public:
  explicit EmbeddedWorld(const EmbeddedWorldOptions& options)
      : WorldBase(options.seed, options.decisions),
        scheduler_(time_, options.stack_bytes, trace_),
        fabric_{scheduler_, time_, trace_, options.hop} {
    trace_.add(options.seed);
    if (decisions_ != nullptr) decisions_->clock([this] { return now_ns(); });
    if (decisions_ != nullptr) scheduler_.keep_past(decisions_->past());
    if (options.order.kind != OrderKind::first_come) scheduler_.order(options.order, rng("order"));
    scheduler_.most_turns_at_a_moment(options.most_turns_at_a_moment);
    add("harness", true);
  }
  ~EmbeddedWorld() override { end_processes(); }

  bool embedded() const override { return true; }
  std::int64_t now_ns() const override { return time_.now(); }
  Past* past() const override { return scheduler_.past(); }

 private:
  Scheduler& scheduler() override { return scheduler_; }
  FdWaiter* fds() override { return nullptr; }
  std::string next_address(std::size_t index) override {
    const std::size_t number = index + 1;
    return "10." + std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 255) + "." +
           std::to_string(number & 255);
  }
  // Machines have been up for different times, so that a time that leaks from one to another is noticed;
  // their wall clocks agree until somebody steps one.
  ProcessClock next_clock(std::size_t index) override {
    const MonotonicTime up(std::chrono::hours(24) +
                           std::chrono::seconds(1000) * static_cast<int>(index % 1'000'000));
    return ProcessClock(up, WallTime(std::chrono::seconds(1'767'225'600)));  // 2026-01-01
  }
  std::unique_ptr<ProcessNetwork> make_network(FiberProcess& process) override {
    SimHost& host = fabric_.hosts[process.address()];
    host.address = process.address();
    return std::make_unique<SimNetwork>(fabric_, process.group(), host);
  }

  VirtualTime time_;
  Scheduler scheduler_;
  SimFabric fabric_;
};

class RealWorld final : public WorldBase {
 public:
  explicit RealWorld(const RealWorldOptions& options)
      : WorldBase(options.seed, options.decisions), scheduler_(loop_, options.stack_bytes, trace_) {
    if (decisions_ != nullptr) decisions_->clock([this] { return now_ns(); });
    add("harness", true);
  }
  ~RealWorld() override { end_processes(); }

  bool embedded() const override { return false; }
  std::int64_t now_ns() const override { return loop_.now() - run_began_; }

 private:
  Scheduler& scheduler() override { return scheduler_; }
  FdWaiter* fds() override { return &loop_; }
  // All of 127.0.0.0/8 is this machine. 127.0.x.y is left to others; harnesses that run side by side mostly
  // take different ones.
  std::string next_address(std::size_t index) override {
    HF_CHECK(index < 62'500, "no more addresses");
    return "127." + std::to_string(16 + ::getpid() % 200) + "." + std::to_string(index / 250) + "." +
           std::to_string(index % 250 + 1);
  }
  ProcessClock next_clock(std::size_t) override {
    const std::int64_t now = loop_.now();
    return ProcessClock(MonotonicTime(Duration(fibers::EventLoop::boot_ns() - now)),
                        WallTime(Duration(fibers::EventLoop::wall_ns() - now)));
  }
  std::unique_ptr<ProcessNetwork> make_network(FiberProcess& process) override {
    return std::make_unique<GuardedNetwork>(scheduler_, process);
  }

  fibers::EventLoop loop_;
  Scheduler scheduler_;
};

}  // namespace

std::unique_ptr<World> make_embedded_world(const EmbeddedWorldOptions& options) {
  return std::make_unique<EmbeddedWorld>(options);
}

std::unique_ptr<World> make_real_world(const RealWorldOptions& options) {
  return std::make_unique<RealWorld>(options);
}

}  // namespace holdfast::sim
