// Every case of conformance/sentinel/*.cases, played against the embedded Sentinel and against a real one,
// each of which watches a server of its world. How a case is written: sim/redis/testing/oracle_case.h.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/folders.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/server_connection.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/redis/sentinel/server.h"
#include "sim/redis/server.h"
#include "sim/redis/testing/oracle_player.h"
#include "sim/world/world.h"

namespace holdfast::sim::oracle {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// [parks] Until the Sentinel has heard from its primary.
void wait_until_ready(Target& target) {
  const MonotonicTime limit = deadline_after(target.runtime().now(), seconds(20));
  for (;;) {
    ServerConnection connection(target.network(), target.server(), limit);
    const redis::Reply primary = connection.call({"SENTINEL", "MASTER", "mymaster"}, limit);
    for (std::size_t i = 0; i + 1 < primary.items.size(); i += 2) {
      if (primary.items[i].text == "runid" && !primary.items[i + 1].text.empty()) return;
    }
    target.nudge();
  }
}

class Embedded final : public Target {
 public:
  explicit Embedded(World& world)
      : world_(world), sentinel_(world.add_process("sentinel")), redis_(world.add_process("redis")) {
    redis_.start("server", [this] {
      RedisServer own(redis_.runtime(), redis_.network(), {.listen = second_server(), .primary = {}});
      own.serve();
    });
    sentinel_.start("server", [this] {
      SentinelServer own(sentinel_.runtime(), sentinel_.network(),
                         {.listen = server(), .announced = server(), .primary = second_server()});
      own.serve();
    });
    advance(milliseconds(100));
  }
  Runtime& runtime() override { return world_.harness().runtime(); }
  Network& network() override { return world_.harness().network(); }
  Endpoint server() override { return {sentinel_.address(), 26379}; }
  Endpoint second_server() override { return {redis_.address(), 6379}; }
  WallTime wall() override { return sentinel_.runtime().wall_now(); }
  void advance(Duration by) override { runtime().sleep_for(by); }
  void nudge() override { advance(milliseconds(1)); }

 private:
  World& world_;
  Process &sentinel_, &redis_;
};

class Real final : public Target {
 public:
  Real() : redis_(runtime_, network_, {.folder = folder_.path() + "/redis"}) {
    redis_.start();
    const std::string file = folder_.path() + "/sentinel.conf";
    std::ofstream(file) << "sentinel monitor mymaster " << redis_.endpoint().host << ' '
                        << redis_.endpoint().port << " 2\n";
    sentinel_ = std::make_unique<RedisProcess>(
        runtime_, network_,
        RedisProcessOptions{
            .folder = folder_.path() + "/sentinel", .configuration = file, .settings = {"--sentinel"}});
    sentinel_->start();
  }
  Runtime& runtime() override { return runtime_; }
  Network& network() override { return network_; }
  Endpoint server() override { return sentinel_->endpoint(); }
  Endpoint second_server() override { return redis_.endpoint(); }
  WallTime wall() override { return runtime_.wall_now(); }
  void advance(Duration by) override { runtime_.sleep_for(by); }
  void nudge() override { advance(milliseconds(1)); }

 private:
  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  RedisProcess redis_;
  std::unique_ptr<RedisProcess> sentinel_;
};

class SentinelConformance : public ::testing::TestWithParam<Case> {};

TEST_P(SentinelConformance, EmbeddedAnswersAsReal) {
  for (const int protocol : {2, 3}) {
    Transcript ours;
    const std::unique_ptr<World> world = make_embedded_world({.seed = 1});
    world->run([&] {
      Embedded target(*world);
      wait_until_ready(target);
      ours = play(GetParam().steps, target, protocol);
    });
    Real target;
    wait_until_ready(target);
    const Transcript theirs = play(GetParam().steps, target, protocol);
    EXPECT_EQ(differences(ours, theirs), "") << GetParam().name << ", RESP" << protocol;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , SentinelConformance,
    ::testing::ValuesIn(load_cases(holdfast::testing::source_path("sim/redis/conformance/sentinel"))),
    [](const ::testing::TestParamInfo<Case>& info) { return test_name(info.param.name); });

}  // namespace
}  // namespace holdfast::sim::oracle
