// Scheduler of a world: that of the library (lib/runtime/fibers/scheduler.h), steered and watched. It folds
// every switch into the world's trace, takes an order where there is one (order.h), keeps the past where
// somebody asked (past.h), and lets waits end early or late where that is to happen (rare.h).
//
// One thread: whoever calls World::run().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/runtime/fibers/process_clock.h"
#include "lib/runtime/fibers/scheduler.h"
#include "sim/world/order.h"
#include "sim/world/past.h"
#include "sim/world/trace.h"

namespace holdfast::sim {

class Rare;

using fibers::Driver;
using fibers::Fiber;
using fibers::FiberContext;
using fibers::FiberGroup;
using fibers::FiberQueue;
using fibers::ProcessClock;
using fibers::Role;

// The tasks of one process, and what else a world knows of it.
struct ProcessGroup : FiberGroup {
  using FiberGroup::FiberGroup;
  // By number: the roles of tasks that cannot be started (Process::refuse_tasks()).
  std::map<std::uint64_t, std::function<bool(std::string_view role)>> refusals;
  std::uint64_t last_refusal = 0;
  std::uint64_t forks = 0;          // how often it is a fork of the first
  Past::Party* party = nullptr;     // of its tasks, unless they stand apart; null: none yet, or nobody asked
  std::shared_ptr<Rare> rare = {};  // null: nothing is rare in it
};

class Scheduler final : private fibers::Steering, public fibers::Scheduler {
 public:
  Scheduler(Driver& driver, std::size_t stack_bytes, Trace& trace)
      : fibers::Scheduler(driver, stack_bytes, this), trace_(trace) {}

  // Before any task is started; without it: first come.
  void order(const OrderOptions& options, const Rng& rng) {
    order_.emplace(options, rng, past_);
    gather(options.kind == OrderKind::instant);
  }
  // Before any task is started and before order(). It outlives the scheduler.
  void keep_past(Past* past) { past_ = past; }
  Past* past() const { return past_; }

 private:
  Fiber* take(FiberQueue& ready) override { return order_ ? order_->take(ready) : ready.pop(); }
  void turn(Fiber& next) override;
  void started(Fiber& fiber, FiberGroup& group) override {
    if (past_ != nullptr) past_->started(fiber, static_cast<ProcessGroup&>(group));
  }
  void reach(Fiber& fiber) override {
    if (past_ != nullptr) past_->reach(fiber);
  }
  void reach(FiberGroup& group) override {
    if (past_ != nullptr) past_->reach(static_cast<ProcessGroup&>(group));
  }
  bool moment(FiberQueue& ready) override { return past_ == nullptr || past_->moment(now(), ready); }
  std::optional<Duration> early() override;
  Duration late(Fiber& fiber) override;

  // nullptr: of the thread that runs the world.
  ProcessGroup* process_of(const Fiber& fiber) const {
    return fiber.group == &outside() ? nullptr : static_cast<ProcessGroup*>(fiber.group);
  }

  Trace& trace_;
  std::optional<Order> order_;
  Past* past_ = nullptr;
};

}  // namespace holdfast::sim
