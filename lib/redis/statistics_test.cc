// What a client counts of itself.
#include <gtest/gtest.h>

#include <string>

#include "lib/redis/client.h"
#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"
#include "lib/testing/scene.h"

namespace holdfast::redis {
namespace {

using testing::Fixture;
using testing::Sign;
using testing::Where;

class Statistics : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Ports, Statistics, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(Statistics, CommandsAndConnectionsAreCounted) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Client client(fixture.runtime, fixture.network, fixture.options(link.endpoint()));
    EXPECT_EQ(client.statistics().connections, 0u);
    client.call({"PING"});
    const std::vector<std::vector<std::string_view>> both = {{"PING"}, {"GET", "k"}};
    client.call_all(both);
    EXPECT_THROW(client.call({"NONSENSE"}), Error);  // an error reply is an answer
    ClientStatistics said = client.statistics();
    EXPECT_EQ(said.commands, 4u);
    EXPECT_EQ(said.unanswered, 0u);
    EXPECT_EQ(said.connections, 1u);
    EXPECT_EQ(said.reconnections, 0u);
    EXPECT_EQ(said.failed_connections, 0u);

    link.lose_reply_to("ECHO");
    EXPECT_THROW(client.call({"ECHO", "x"}), Error);
    client.call({"PING"});
    said = client.statistics();
    EXPECT_EQ(said.commands, 6u);
    EXPECT_EQ(said.unanswered, 1u);
    EXPECT_EQ(said.connections, 2u);
    EXPECT_EQ(said.reconnections, 1u);
  });
}

TEST_P(Statistics, AnAttemptThatComesToNothingIsNoConnection) {
  run([](Fixture& fixture) {
    Client client(fixture.runtime, fixture.network, fixture.options({"127.0.0.1", 1}));
    EXPECT_THROW(client.call({"PING"}), Error);
    const ClientStatistics said = client.statistics();
    EXPECT_GE(said.failed_connections, 1u);
    EXPECT_EQ(said.unanswered, 1u);
    EXPECT_EQ(said.connections, 0u);
    EXPECT_EQ(said.commands, 0u);
  });
}

// A subscription ends when nobody listens: the next one is no reconnection. One that breaks is.
TEST_P(Statistics, ASubscriptionThatNobodyNeedsForAWhileIsNotLost) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Client client(fixture.runtime, fixture.network, fixture.options(link.endpoint()));
    for (int i = 0; i < 3; ++i) {
      Sign there(fixture.runtime);
      const auto listening = client.subscribe(
          "c", [](std::string_view) {}, [&] { there.give(); });
      there.wait();
    }
    EXPECT_GE(client.statistics().connections, 1u);
    EXPECT_EQ(client.statistics().reconnections, 0u);
    Sign there(fixture.runtime);
    const auto listening = client.subscribe(
        "c", [](std::string_view) {}, [&] { there.give(); });
    there.wait();
    link.lose_request_with("SUBSCRIBE");
    Sign other(fixture.runtime);
    const auto another = client.subscribe(
        "d", [](std::string_view) {}, [&] { other.give(); });
    other.wait();
    EXPECT_EQ(client.statistics().reconnections, 1u);
  });
}

}  // namespace
}  // namespace holdfast::redis
