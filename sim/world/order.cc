#include "sim/world/order.h"

#include "sim/world/scheduler.h"

namespace holdfast::sim {
namespace {

// Priorities are drawn above it; who is put down gets one below it.
constexpr std::uint64_t kMiddle = std::uint64_t{1} << 32;

}  // namespace

Order::Order(const OrderOptions& options, const Rng& rng, Past* past)
    : options_(options), past_(past), rng_(rng), priorities_(rng.child("priorities")), lowest_(kMiddle) {
  if (options_.kind != OrderKind::priorities) return;
  Rng changes = rng.child("changes");
  for (std::uint64_t i = 0; i < options_.changes; ++i) changes_.insert(changes.between(1, options_.choices));
}

Fiber* Order::take(FiberQueue& ready) {
  if (ready.size() == 1) return ready.pop();
  switch (options_.kind) {
    case OrderKind::first_come: return ready.pop();
    case OrderKind::random:
    case OrderKind::instant: return any_of(ready);
    case OrderKind::priorities:
    case OrderKind::partial_order: return highest_of(ready);
  }
  return ready.pop();
}

Fiber* Order::any_of(FiberQueue& ready) {
  if (past_ != nullptr) past_->choice(ready);
  Fiber* chosen = ready.head();
  for (std::uint64_t skip = rng_.between(0, ready.size() - 1); skip > 0; --skip) chosen = chosen->queue_next;
  ready.remove(*chosen);
  return chosen;
}

Fiber* Order::highest_of(FiberQueue& ready) {
  const auto highest = [&] {
    Fiber* found = nullptr;
    for (Fiber* fiber = ready.head(); fiber != nullptr; fiber = fiber->queue_next) {
      if (fiber->priority == 0) fiber->priority = priorities_.between(kMiddle + 1, UINT64_MAX);
      if (found == nullptr || fiber->priority > found->priority) found = fiber;
    }
    return found;
  };
  Fiber* chosen = highest();
  if (options_.kind == OrderKind::priorities) {
    if (changes_.contains(++choice_)) {
      chosen->priority = lowest_ > 1 ? --lowest_ : 1;
      chosen = highest();
    }
  } else {
    chosen->priority = 0;
    for (Fiber* fiber = ready.head(); fiber != nullptr; fiber = fiber->queue_next) {
      if (fiber->group == chosen->group) fiber->priority = 0;
    }
  }
  ready.remove(*chosen);
  return chosen;
}

}  // namespace holdfast::sim
