// A race becomes a message that comes late.
#include "sim/hunt/shrink_hold_up.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sim/hunt/shrink.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr const char* kPromise = "no-foreign-release/foreign-removal";

// GET, then DEL: the lease has to run out between the two, and somebody else has to come.
HuntCase race(const std::string& latency) {
  return {.document = parse_toml(R"(schema = 1
name = "race"
[run]
seeds = "1"
[lock]
kind  = "get-del-unlock"
lease = "1s"
[workload]
kind    = "critical-section"
clients = 2
rounds  = 2
hold    = "900ms..990ms"
[network]
latency = ")" + latency + R"("
[[expect]]
check = "no-foreign-release"
)",
                                 "race.toml")};
}

unsigned seeds_that_show(const Value& document) {
  unsigned shown = 0;
  for (std::uint64_t seed = 1; seed <= kSeedsThatShow; ++seed)
    shown += try_case({.document = document, .seed = seed}).shows(kPromise) ? 1 : 0;
  return shown;
}

TEST(ShrinkHoldUp, EachCommandAndEachAnswerIsHeldUpForAWhileOrUntilSomethingHappens) {
  std::set<std::string> held, kinds, endings;
  for (const Candidate& candidate : held_up(race("1ms"))) {
    parse_base(candidate.document, "held");  // throws if it is no scenario
    const Value& fault = candidate.document.find("fault")->items.back();
    const Value& after = *fault.find("after");
    EXPECT_LE(after.find("nth")->integer, 8);
    held.insert(after.find("message")->text + " " + after.find("phase")->text);
    kinds.insert(fault.find("kind")->text);
    const Value* const until = fault.find("until");
    endings.insert(until != nullptr ? until->find("event")->text : fault.find("for")->text);
  }
  EXPECT_EQ(held, (std::set<std::string>{"DEL reply", "DEL request", "GET reply", "GET request", "SET reply",
                                         "SET request"}));
  EXPECT_EQ(kinds, (std::set<std::string>{"hold-message", "stall"}));
  EXPECT_EQ(endings, (std::set<std::string>{"1s", "2s", "500ms", "lock.granted", "lock.released",
                                            "lock.renewed", "lock.requested"}));
}

TEST(ShrinkHoldUp, OneLateMessageMakesEverySeedShowARace) {
  const HuntCase one = race("1ms");
  ASSERT_EQ(seeds_that_show(one.document), 0u);
  const Candidates candidates = held_up(one);
  const auto all = [](const Candidate& candidate) {
    return seeds_that_show(candidate.document) == kSeedsThatShow;
  };
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), all));
}

// As a hunt would find it: messages that are late by chance.
TEST(ShrinkHoldUp, ShrinkingHoldsUpWhatIsARace) {
  HuntCase one = race("1ms..45ms");
  while (!try_case(one).shows(kPromise)) ASSERT_LT(++one.seed, 200u);
  const Shrunk shrunk = shrink(ground_of(*find_lock_kind("get-del-unlock")), one, kPromise);
  EXPECT_EQ(shrunk.seeds_of_20, kSeedsThatShow) << to_toml(shrunk.one.document);
  EXPECT_TRUE(shrunk.one.changes.empty());
  const Value* const faults = shrunk.one.document.find("fault");
  ASSERT_NE(faults, nullptr) << to_toml(shrunk.one.document);
  EXPECT_EQ(faults->items.size(), 1u) << to_toml(shrunk.one.document);
}

TEST(ShrinkHoldUp, ACaseThatCannotRunHasNothingToHoldUp) {
  HuntCase none = race("1ms");
  set_key(section_of(none.document, "lock"), "kind", text_value("no-such-lock"));
  EXPECT_TRUE(held_up(none).empty());
}

}  // namespace
}  // namespace holdfast::sim
