// Redisson's later semaphore: what it gives back. To whom, when another server was promoted meanwhile:
// scenarios/museum/M47-given-back-to-another.toml.
#include "sim/historic/redisson/redisson_semaphore_checked.h"

#include <gtest/gtest.h>

#include "lib/testing/faulty_link.h"
#include "sim/cluster/cluster.h"
#include "sim/historic/testing/peer.h"
#include "sim/proxy/proxy.h"
#include "sim/world/world.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;

struct Permits {
  Permits(Runtime& runtime, Network& network, redis::ClientOptions options)
      : client(runtime, network, std::move(options)),
        redisson(std::make_shared<Redisson>(client, LockOptions{})),
        semaphore(redisson, std::make_shared<ConnectedReplicas>(redisson), "k") {}
  explicit Permits(Fixture& fixture) : Permits(fixture.runtime, fixture.network, fixture.options()) {}
  bool take() { return semaphore.try_acquire().reply.integer == 1; }
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonSemaphoreChecked semaphore;
};

class RedissonSemaphoreCheckedTest : public PortsTest {};
HF_ON_ALL_PORTS(RedissonSemaphoreCheckedTest);

TEST_P(RedissonSemaphoreCheckedTest, IsTheSameNumber) {
  run([](Fixture& fixture) {
    Permits a(fixture), b(fixture);
    EXPECT_TRUE(a.semaphore.try_set_permits(2));
    EXPECT_FALSE(b.semaphore.try_set_permits(5));
    EXPECT_TRUE(a.take());
    EXPECT_TRUE(b.take());
    EXPECT_FALSE(b.take());
    a.semaphore.release();
    EXPECT_EQ(a.client.call({"GET", "k"}).reply.text, "1");
  });
}

// 3.13.6 sends both again, and counts them twice.
TEST_P(RedissonSemaphoreCheckedTest, NothingIsSentAgain) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Permits a(fixture.runtime, fixture.network, fixture.options(link.endpoint())), b(fixture);
    b.semaphore.try_set_permits(3);
    EXPECT_TRUE(b.take());
    b.semaphore.release();  // the server knows the scripts
    link.lose_reply_to("\r\nk\r\n");
    EXPECT_THROW(a.semaphore.try_acquire(), Unavailable);
    EXPECT_EQ(b.semaphore.available(), 2) << "taken, and nobody has it";
    link.lose_reply_to("redisson_sc");
    EXPECT_THROW(a.semaphore.release(), Unavailable);
    EXPECT_EQ(b.semaphore.available(), 3);
  });
}

void with_a_replica(const std::function<void(sim::Cluster&, Permits&)>& body) {
  const auto world = sim::make_embedded_world({});
  std::unique_ptr<sim::Proxy> proxy;
  std::unique_ptr<sim::Cluster> cluster;
  world->run([&] {
    proxy = std::make_unique<sim::Proxy>(*world);
    cluster = sim::make_embedded_cluster(*world, *proxy,
                                         {.topology = sim::Topology::primary_replica, .nodes = {"r1", "r2"}});
    cluster->start();
    redis::ClientOptions of_set;
    for (const auto& node : cluster->nodes()) of_set.nodes.push_back({node->name(), node->endpoint()});
    Permits permits(world->harness().runtime(), world->harness().network(), of_set);
    permits.semaphore.try_set_permits(1);
    body(*cluster, permits);
  });
}

TEST(RedissonSemaphoreCheck, AGrantThatNobodyAcknowledgesIsGivenBack) {
  with_a_replica([](sim::Cluster& cluster, Permits& a) {
    cluster.find("r2")->pause();
    const MonotonicTime start = a.semaphore.runtime().now();
    EXPECT_THROW(a.semaphore.try_acquire(), Unavailable);
    EXPECT_GE(a.semaphore.runtime().now() - start, 3 * Redisson::kRetryInterval + 4s);  // WAIT 1000 each
    EXPECT_EQ(a.semaphore.available(), 1);
    EXPECT_THROW(a.semaphore.release(), Unavailable) << "and yet it is done";
    EXPECT_EQ(a.semaphore.available(), 2);
    cluster.find("r2")->resume();
    EXPECT_TRUE(a.take());
  });
}

}  // namespace
}  // namespace holdfast::historic
