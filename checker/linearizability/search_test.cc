// Histories that a search can lose itself in. How much it looks at is counted, not how long it takes.
#include "checker/linearizability/search.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>

#include "checker/linearizability/breadth_search.h"
#include "checker/linearizability/depth_search.h"
#include "checker/linearizability/operations.h"
#include "checker/testing/draw_operations.h"
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

// No order exists, and there are too many to look at all of them.
std::vector<Operation> many_permits() {
  return draw_operations({.model = "semaphore",
                          .operations = 2000,
                          .clients = 40,
                          .resize = 0.05,
                          .seed = 3,
                          .invalid = true,
                          .options = {.permits = 3}});
}

// Who is asked between turns can end the search, and is told how far it is.
TEST(Search, StopsWhenItIsTold) {
  const std::unique_ptr<Model> model = find_model("semaphore")->make({.permits = 3});
  const std::vector<Operation> operations = many_permits();
  int asked = 0;
  SearchProgress last;
  const auto stop = [&](const SearchProgress& progress) -> const char* {
    EXPECT_GE(progress.steps, last.steps);
    EXPECT_GE(progress.settled, last.settled);
    EXPECT_LE(progress.settled, progress.operations);
    last = progress;
    return ++asked == 2 ? "time" : nullptr;
  };
  const SearchResult found = search(operations, *model, {.stop = stop});
  EXPECT_EQ(found.outcome, SearchOutcome::out_of_budget);
  EXPECT_STREQ(found.spent, "time");
  EXPECT_EQ(asked, 2);
  EXPECT_GT(last.steps, 0U);
  EXPECT_EQ(found.settled, last.settled);
  // What was settled has an order.
  std::vector<std::int64_t> returns;
  for (const Operation& each : operations) {
    if (!each.unknown) returns.push_back(each.ret);
  }
  std::sort(returns.begin(), returns.end());
  ASSERT_GT(found.settled, 0U);
  std::vector<Operation> settled;
  for (Operation each : operations) {
    if (each.call > returns[found.settled - 1]) continue;
    if (each.ret > returns[found.settled - 1]) {
      each.unknown = true;
      each.ret = kForever;
    }
    settled.push_back(each);
  }
  EXPECT_EQ(search(settled, *model).outcome, SearchOutcome::linearizable);
}

// The bound on memory holds at every moment, for both searches together. Where the C library does not count
// (under a sanitizer) this sees nothing.
TEST(Search, KeepsItsMemoryBound) {
  constexpr std::uint64_t kBytes = 24 << 20;
  const auto in_use = [] {
    const struct mallinfo2 now = mallinfo2();
    return static_cast<std::uint64_t>(now.uordblks + now.hblkhd);
  };
  for (const bool queue : {false, true}) {
    const std::vector<Operation> operations =
        queue
            ? draw_operations({.model = "fair", .operations = 120, .clients = 20, .seed = 3, .invalid = true})
            : many_permits();
    const std::unique_ptr<Model> model = find_model(queue ? "fair" : "semaphore")->make({.permits = 3});
    const std::uint64_t before = in_use();
    std::uint64_t most = 0;
    const auto stop = [&](const SearchProgress&) -> const char* {
      most = std::max(most, in_use());
      return nullptr;
    };
    const SearchResult found =
        search(operations, *model, {.bytes = kBytes, .steps = 20'000'000, .stop = stop});
    EXPECT_EQ(found.outcome, SearchOutcome::out_of_budget);
    EXPECT_STREQ(found.spent, "memory");
    if (most == 0) continue;
    EXPECT_LT(most, before + kBytes + kBytes / 10);
  }
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
