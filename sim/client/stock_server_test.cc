// The stock as its clients see it.
#include "sim/client/stock_server.h"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::sim {
namespace {

using Outcome = StockClient::Outcome;

class StockTest : public ::testing::Test {
 protected:
  void with_stock(std::int64_t units, const std::function<void(StockClient&)>& body) {
    world->run([&] {
      StockServer server(*world, units);
      Process& process = world->add_process("c1");
      Parker& parker = world->harness().runtime().parker();
      bool done = false;
      process.start("client", [&] {
        StockClient client(process, server.endpoint(), std::chrono::seconds(1));
        body(client);
        done = true;
        parker.unpark();
      });
      while (!done) parker.park_until(kNever);
    });
  }
  std::unique_ptr<World> world = make_embedded_world({.seed = 7});
};

TEST_F(StockTest, ComparesAndSets) {
  with_stock(5, [](StockClient& stock) {
    std::int64_t units = 0;
    EXPECT_EQ(stock.read(units), Outcome::ok);
    EXPECT_EQ(units, 5);
    EXPECT_EQ(stock.compare_and_set(4, 3), Outcome::conflict);
    EXPECT_EQ(stock.compare_and_set(5, 4), Outcome::ok);
    EXPECT_EQ(stock.write(9), Outcome::ok);
    EXPECT_EQ(stock.read(units), Outcome::ok);
    EXPECT_EQ(units, 9);
  });
}

// Shown when reading, a newer token shuts out the older holder before it can write over what was read.
TEST_F(StockTest, ANewerTokenThatReadShutsOutTheOlderOne) {
  with_stock(5, [](StockClient& stock) {
    std::int64_t units = 0;
    EXPECT_EQ(stock.read(units, 1), Outcome::ok);
    EXPECT_EQ(stock.read(units, 2), Outcome::ok);
    EXPECT_EQ(units, 5);
    EXPECT_EQ(stock.write_with_token(4, 1), Outcome::stale);
    EXPECT_EQ(stock.read(units, 1), Outcome::stale);
    EXPECT_EQ(stock.write_with_token(4, 2), Outcome::ok);
    EXPECT_EQ(stock.read(units, 3), Outcome::ok);
    EXPECT_EQ(units, 4);
    EXPECT_EQ(stock.read(units, -1), Outcome::stale);  // no token at all
  });
}

// Shown at the write only, both write what they made of the same five.
TEST_F(StockTest, ATokenThatComesWithTheWriteComesTooLate) {
  with_stock(5, [](StockClient& stock) {
    std::int64_t units = 0;
    EXPECT_EQ(stock.read(units), Outcome::ok);
    EXPECT_EQ(stock.write_with_token(units - 1, 1), Outcome::ok);
    EXPECT_EQ(stock.write_with_token(units - 1, 2), Outcome::ok);
    EXPECT_EQ(stock.read(units), Outcome::ok);
    EXPECT_EQ(units, 4);
    EXPECT_EQ(stock.write_with_token(3, 1), Outcome::stale);
  });
}

}  // namespace
}  // namespace holdfast::sim
