#include "lib/testing/server/redis_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class RedisProcessTest : public ::testing::Test {
 protected:
  RedisProcessOptions in(const std::string& name) const {
    RedisProcessOptions options;
    options.folder = folder_.path() + "/" + name;
    return options;
  }
  std::string get(RedisProcess& redis, const std::string& key) { return redis.call({"GET", key}).text; }

  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
};

TEST_F(RedisProcessTest, StartsAnswersAndDies) {
  RedisProcess redis(runtime_, network_, in("a"));
  EXPECT_FALSE(redis.running());
  redis.start();
  EXPECT_TRUE(redis.running());
  EXPECT_EQ(redis.call({"SET", "k", "v"}).text, "OK");
  EXPECT_EQ(get(redis, "k"), "v");
  const int pid = redis.pid();
  redis.kill();
  EXPECT_FALSE(redis.running());
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_THROW(redis.call({"PING"}), std::runtime_error);
}

TEST_F(RedisProcessTest, RestartsAtItsPortWithoutItsData) {
  RedisProcess redis(runtime_, network_, in("a"));
  redis.start();
  const Endpoint at = redis.endpoint();
  redis.call({"SET", "k", "v"});
  redis.kill();
  redis.start();
  EXPECT_EQ(redis.endpoint(), at);
  EXPECT_TRUE(redis.call({"GET", "k"}).is_nil());
}

TEST_F(RedisProcessTest, KeepsOrLosesItsDisk) {
  RedisProcess redis(runtime_, network_, in("a"));
  const std::vector<std::string> append_only = {"--appendonly", "yes"};
  redis.start(append_only);
  redis.call({"SET", "k", "v"});
  redis.kill();
  redis.start(append_only);
  EXPECT_EQ(get(redis, "k"), "v");
  redis.kill();
  redis.erase_disk();
  redis.start(append_only);
  EXPECT_TRUE(redis.call({"GET", "k"}).is_nil());
}

TEST_F(RedisProcessTest, SeveralAtOnceOnAddressesOfTheirOwn) {
  RedisProcessOptions other = in("b");
  other.address = "127.77.0.2";
  RedisProcess a(runtime_, network_, in("a")), b(runtime_, network_, other);
  a.start();
  b.start();
  a.call({"SET", "k", "a"});
  b.call({"SET", "k", "b"});
  EXPECT_EQ(get(a, "k"), "a");
  EXPECT_EQ(get(b, "k"), "b");
  EXPECT_EQ(b.endpoint().host, "127.77.0.2");
}

TEST_F(RedisProcessTest, SaysWhatIsWrongWithASetting) {
  RedisProcess redis(runtime_, network_, in("a"));
  try {
    redis.start({"--no-such-setting", "1"});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-setting"), std::string::npos) << error.what();
  }
}

TEST_F(RedisProcessTest, TakesAnotherPortWhenTheFirstIsTaken) {
  RedisProcess a(runtime_, network_, in("a")), b(runtime_, network_, in("b"));
  EXPECT_NE(a.endpoint(), b.endpoint());
}

TEST_F(RedisProcessTest, MissingServerSaysHowToInstallIt) {
  const char* path = std::getenv("PATH");
  const std::string kept = path != nullptr ? path : "";
  ::setenv("PATH", "/nonexistent", 1);
  try {
    RedisProcess redis(runtime_, network_, in("a"));
    ADD_FAILURE() << "there is no server in /nonexistent";
  } catch (const MissingServer& error) {
    EXPECT_NE(std::string(error.what()).find("apt-get install redis-server"), std::string::npos);
  }
  ::setenv("PATH", kept.c_str(), 1);
}

TEST_F(RedisProcessTest, PausedItAnswersAfterTheResume) {
  RedisProcessOptions options = in("a");
  options.call_limit = 50ms;
  RedisProcess redis(runtime_, network_, options);
  redis.start();
  redis.pause();
  EXPECT_TRUE(redis.running());
  EXPECT_THROW(redis.call({"PING"}), std::runtime_error);
  redis.resume();
  for (int i = 0; i < 1000; ++i) {
    try {
      if (redis.call({"PING"}).text == "PONG") return;
    } catch (const std::runtime_error&) {  // not within those 50 ms
    }
  }
  FAIL() << "it does not answer";
}

}  // namespace
}  // namespace holdfast
