// The search beside a plain one, on the 200 drawn configurations of tools/microbench/bench_search.cc, which
// compares times. Here it is counted how much they look at.
#include <gtest/gtest.h>

#include "checker/linearizability/search.h"
#include "checker/testing/plain_search.h"
#include "checker/testing/search_cases.h"

namespace holdfast::checker {
namespace {

// Wherever the plain search decides, ours does, says the same, and looks at no more than twice as much, or
// at little.
TEST(PlainSearch, DecidesNothingThatOursDoesNotDecideSooner) {
  constexpr std::uint64_t kPlainMost = 10'000, kLittle = 5'000;
  int decided = 0, violated = 0, number = 0;
  for (const SearchCase& each : search_cases()) {
    SCOPED_TRACE("configuration " + std::to_string(number++) + " of bench_search: " + each.draw.model);
    const std::vector<Operation> operations = draw_operations(each.draw);
    const auto model = find_model(each.draw.model)->make(each.draw.options);
    const PlainResult plain = plain_search(operations, *model, kPlainMost);
    if (!plain.linearizable) continue;
    ++decided;
    violated += *plain.linearizable ? 0 : 1;
    const SearchResult ours =
        search(operations, *model, {.steps = std::max(2 * plain.configurations, kLittle)});
    EXPECT_EQ(ours.outcome,
              *plain.linearizable ? SearchOutcome::linearizable : SearchOutcome::not_linearizable)
        << ours.spent << " where the plain search needed " << plain.configurations;
  }
  EXPECT_GT(decided, 120);
  EXPECT_GT(violated, 40);
  EXPECT_LT(violated, decided - 40);
}

// On many small histories, where reductions that lose something would show.
TEST(PlainSearch, AgreesOnSmallHistories) {
  int violated = 0, histories = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SearchCase each = search_cases(208)[8 + seed % 200];
    each.draw.operations = 10 + seed % 25;
    each.draw.clients = static_cast<std::uint32_t>(2 + seed % 5);
    each.draw.unknown = static_cast<double>(seed % 4) / 10;
    each.draw.seed = seed;
    each.draw.invalid = seed % 3 != 0;
    SCOPED_TRACE(each.draw.model + ", seed " + std::to_string(seed));
    const std::vector<Operation> operations = draw_operations(each.draw);
    const auto model = find_model(each.draw.model)->make(each.draw.options);
    const PlainResult plain = plain_search(operations, *model, 200'000);
    if (!plain.linearizable) continue;
    ++histories;
    violated += *plain.linearizable ? 0 : 1;
    const SearchResult ours = search(operations, *model, {.steps = 1'000'000});
    ASSERT_EQ(ours.outcome,
              *plain.linearizable ? SearchOutcome::linearizable : SearchOutcome::not_linearizable);
  }
  EXPECT_GT(histories, 1900);
  EXPECT_GT(violated, 500);
}

// It is what it says: it decides by definition, on histories that a reader can check.
TEST(PlainSearch, DecidesByHand) {
  const auto model = find_model("register")->make({});
  Operation write;
  write.f = Function::write;
  write.process = write.owner = 1;
  write.value = decltype(write.value)(7);
  write.call = 0;
  write.ret = 5;
  Operation read = write;
  read.f = Function::read;
  read.process = read.owner = 2;
  read.call = 6;
  read.ret = 8;
  EXPECT_EQ(plain_search({write, read}, *model, 100).linearizable, true);
  Operation other = read;
  other.value = decltype(other.value)(8);
  EXPECT_EQ(plain_search({write, other}, *model, 100).linearizable, false);
  write.unknown = true;
  write.ret = kForever;
  EXPECT_EQ(plain_search({write, read}, *model, 100).linearizable, true);
  EXPECT_EQ(plain_search({write, read}, *model, 1).linearizable, std::nullopt);
}

}  // namespace
}  // namespace holdfast::checker
