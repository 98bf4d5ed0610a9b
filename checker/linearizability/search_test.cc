// Histories that a search can lose itself in. How much it looks at is counted, not how long it takes.
#include "checker/linearizability/search.h"

#include <gtest/gtest.h>

#include "checker/linearizability/breadth_search.h"
#include "checker/linearizability/depth_search.h"
#include "checker/linearizability/operations.h"
#include "checker/testing/draw_register.h"

namespace holdfast::checker {
namespace {

struct Case {
  std::uint64_t operations;
  std::uint32_t clients;
  double unknown;  // share
  std::uint64_t seed;
};

std::vector<Operation> draw(const Case& each, bool invalid) {
  DrawRegisterOptions options;
  options.operations = each.operations;
  options.clients = each.clients;
  options.unknown = each.unknown;
  options.seed = each.seed;
  options.invalid = invalid;
  const DrawnRegister drawn = draw_register_history(options);
  auto keys =
      extract_operations(drawn.history, {.by_position = true, .failed_release_ends = false, .locks = false});
  return std::move(keys.at(0).operations);
}

const std::unique_ptr<Model> kRegister = find_model("cas-register")->make({});

// Many unknown outcomes, or many clients. The breadth-first search alone needs minutes and more for these.
TEST(Search, FindsAnOrderWhereOneExists) {
  for (const Case& each : {Case{500, 5, 0.06, 1}, Case{1000, 5, 0.06, 1}, Case{1000, 5, 0.06, 2},
                           Case{1000, 10, 0.06, 3}, Case{1000, 20, 0.06, 4}, Case{1000, 40, 0, 1}}) {
    SCOPED_TRACE(std::to_string(each.operations) + " operations, " + std::to_string(each.clients) +
                 " clients, share of unknown outcomes " + std::to_string(each.unknown));
    const std::vector<Operation> operations = draw(each, false);
    const SearchResult found = search(operations, *kRegister, {.steps = 2'000'000});
    EXPECT_EQ(found.outcome, SearchOutcome::linearizable) << found.spent;
  }
}

// A read that returns what cannot be there: all orders have to be looked at.
TEST(Search, ShowsThatThereIsNone) {
  for (const Case& each : {Case{500, 5, 0.06, 1}, Case{500, 5, 0.06, 2}, Case{500, 10, 0.03, 1},
                           Case{200, 20, 0, 1}, Case{200, 20, 0.03, 1}}) {
    SCOPED_TRACE(std::to_string(each.operations) + " operations, " + std::to_string(each.clients) +
                 " clients, share of unknown outcomes " + std::to_string(each.unknown));
    const std::vector<Operation> operations = draw(each, true);
    const SearchResult found = search(operations, *kRegister, {.steps = 2'000'000});
    EXPECT_EQ(found.outcome, SearchOutcome::not_linearizable) << found.spent;
  }
}

// What a budget of steps cuts off is said, by either and by both.
TEST(Search, SaysThatItsBudgetIsSpent) {
  const std::vector<Operation> operations = draw({200, 20, 0, 1}, true);
  const SearchResult found = search(operations, *kRegister, {.steps = 100});
  EXPECT_EQ(found.outcome, SearchOutcome::out_of_budget);
  EXPECT_STREQ(found.spent, "steps");
  EXPECT_EQ(search(operations, *kRegister, {.bytes = 4096}).outcome, SearchOutcome::out_of_budget);
  EXPECT_FALSE(BreadthSearch(operations, *kRegister, 1 << 20).advance(100));
  EXPECT_FALSE(DepthSearch(operations, *kRegister, 1 << 20).advance(100));
}

// Going on in small turns comes to the same as one long one.
TEST(Search, TurnsChangeNothing) {
  for (const bool invalid : {false, true}) {
    const std::vector<Operation> operations = draw({300, 6, 0.03, 5}, invalid);
    BreadthSearch breadth(operations, *kRegister, 1 << 28), one_breadth(operations, *kRegister, 1 << 28);
    DepthSearch depth(operations, *kRegister, 1 << 28), one_depth(operations, *kRegister, 1 << 28);
    std::optional<SearchResult> by_breadth, by_depth;
    while (!by_breadth) by_breadth = breadth.advance(7);
    while (!by_depth) by_depth = depth.advance(7);
    const auto all_breadth = one_breadth.advance(100'000'000), all_depth = one_depth.advance(100'000'000);
    ASSERT_TRUE(all_breadth && all_depth);
    EXPECT_EQ(by_breadth->outcome, all_breadth->outcome);
    EXPECT_EQ(by_breadth->steps, all_breadth->steps);
    EXPECT_EQ(by_depth->outcome, all_depth->outcome);
    EXPECT_EQ(by_depth->steps, all_depth->steps);
    EXPECT_EQ(by_depth->outcome, by_breadth->outcome);
    EXPECT_EQ(by_depth->outcome == SearchOutcome::linearizable, !invalid);
  }
}

// What was seen with fewer unknown operations is not looked at again; what is new is.
TEST(VisitedConfigurations, KnowsWhatWasSeen) {
  VisitedConfigurations visited;
  using Words = std::vector<std::uint64_t>;
  EXPECT_TRUE(visited.add({1, 0, 5}, {0b0110}));
  EXPECT_FALSE(visited.add({1, 0, 5}, {0b0110}));
  EXPECT_FALSE(visited.add({1, 0, 5}, {0b1110}));  // one more was used
  EXPECT_FALSE(visited.add({1, 0, 5}, {0b0110, 1}));
  EXPECT_TRUE(visited.add({1, 0, 5}, {0b0010}));  // one fewer
  EXPECT_TRUE(visited.add({1, 0, 5}, {0b1001}));
  EXPECT_TRUE(visited.add({2, 0, 5}, {0b0110}));  // another state
  EXPECT_TRUE(visited.add({1, 0, 4}, {0b0110}));  // others have happened
  EXPECT_TRUE(visited.add({1, 0}, {0b0110}));
  EXPECT_TRUE(visited.add({1, 0, 5}, {}));
  EXPECT_FALSE(visited.add({1, 0, 5}, {1}));
  for (std::uint64_t i = 0; i < 20'000; ++i) EXPECT_TRUE(visited.add(Words{9, i}, {}));
  for (std::uint64_t i = 0; i < 20'000; ++i) EXPECT_FALSE(visited.add(Words{9, i}, {}));
}

}  // namespace
}  // namespace holdfast::checker
