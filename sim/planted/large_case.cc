#include "sim/planted/large_case.h"

#include <algorithm>

#include "sim/hunt/draw_case.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

// A case of the hunt, with as many clients, and faults of any kinds added to those that it drew.
HuntCase drawn(const Ground& ground, const LargeOptions& options, std::uint64_t number) {
  const Rng rng = Rng::derive(options.seed, "large/" + std::to_string(number));
  Dice dice(rng.child("sizes"));
  HuntCase one{.document = draw_case(ground, rng.child("case")), .seed = dice.word() >> 12};
  std::size_t there = 0;
  if (const Value* const faults = one.document.find("fault")) there = faults->items.size();
  for (std::uint64_t i = 0; there < options.faults && i < 2 * options.faults; ++i) {
    const auto fault = draw_fault(ground, one.document, rng.child("fault/" + std::to_string(i)));
    if (!fault) continue;
    tables_of(one.document, "fault").push_back(*fault);
    ++there;
  }
  put_in_order(one.document);
  if (options.goes_on)
    one.changes.reseeds.push_back(
        {.at_ns = static_cast<std::int64_t>(dice.between(50, 3'000)) * 1'000'000, .seed = dice.word()});
  return one;
}

}  // namespace

std::optional<LargeCase> large_case(const LockKind& lock, const LargeOptions& options) {
  Ground ground = ground_of(lock);
  Value workload;
  set_key(workload, "clients", integer_value(static_cast<std::int64_t>(options.clients)));
  set_key(ground.given, "workload", workload);
  for (std::uint64_t number = 0; number < options.tries; ++number) {
    HuntCase one = drawn(ground, options, number);
    const Trial trial = try_case(one);
    const auto failure = std::find_if(trial.failures.begin(), trial.failures.end(),
                                      [](const Failure& some) { return !some.of_harness(); });
    if (failure == trial.failures.end()) continue;
    return LargeCase{.one = std::move(one), .promise = failure->promise()};
  }
  return std::nullopt;
}

}  // namespace holdfast::sim
