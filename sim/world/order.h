// Order: which of the tasks that can run at one moment goes on. Real schedulers promise nothing of it.
//
// Five strategies. Each choice among several tasks is a decision of the stream "order" (decisions.h); where
// only one can run nothing is drawn.
//
//   first_come     as they became ready: the same in every run
//   random         any of them, uniformly
//   priorities     each task has a priority from its start, the highest goes on; at a few drawn choices the
//                  one that would go on is put below all others. Who yields gets another one, so that who
//                  yields until others have run does not go first for ever. A bug that needs d of these
//                  orders is found with probability 1 / (n k^(d-1)) at least. Burckhardt, Kothari,
//                  Musuvathi, Nagarakatti: A Randomized Scheduler with Probabilistic Guarantees of Finding
//                  Bugs, ASPLOS 2010
//   partial_order  each turn of a task has a priority of its own, drawn anew when a task of the same process
//                  went first: tasks of one process race, others are apart. Yuan, Yang, Gu: Partial Order
//                  Aware Concurrency Sampling, CAV 2018
//   instant        any of them, uniformly, and all that is due at one moment comes up before anything of it
//                  goes on: messages that arrive and timers that fire at the same time race. Messages come
//                  before timers; who waits for both has got the message. (The other strategies let each
//                  message, and each timer, have its effect before the next one comes up.)
//
// Complexity of a choice: linear in the tasks that can run.
#pragma once

#include <cstdint>
#include <set>

#include "sim/world/rng.h"

namespace holdfast::fibers {
struct Fiber;
class FiberQueue;
}  // namespace holdfast::fibers

namespace holdfast::sim {

using fibers::Fiber;
using fibers::FiberQueue;
class Past;

enum class OrderKind : std::uint8_t { first_come, random, priorities, partial_order, instant };

struct OrderOptions {
  OrderKind kind = OrderKind::first_come;
  // priorities: how many tasks are put down, and among how many first choices these are drawn.
  std::uint64_t changes = 3;
  std::uint64_t choices = 2'000;
};

class Order {
 public:
  // `past` is told of each choice; null: nobody is.
  Order(const OrderOptions& options, const Rng& rng, Past* past);

  // Takes the one that goes on out of the queue. REQUIRES: it is not empty.
  Fiber* take(FiberQueue& ready);

 private:
  Fiber* any_of(FiberQueue& ready);
  Fiber* highest_of(FiberQueue& ready);

  const OrderOptions options_;
  Past* const past_;
  Rng rng_, priorities_;
  std::set<std::uint64_t> changes_;  // priorities: choices at which one is put down
  std::uint64_t choice_ = 0;
  std::uint64_t lowest_;
};

}  // namespace holdfast::sim
