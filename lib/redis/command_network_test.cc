// Clients and locks on connections that an application makes: with hiredis to a real Redis, and with doubles
// that say what a connection did and can be made to fail.
#include "lib/redis/command_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/redis/hiredis_connections.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Commands = std::vector<std::vector<std::string>>;

Reply status(std::string text) {
  Reply reply;
  reply.type = Reply::Type::status;
  reply.text = std::move(text);
  return reply;
}

// --- real Redis, by hiredis -------------------------------------------------------------------------------

redisContext* by_hiredis(const Endpoint& to, Duration patience) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  return redisConnectWithTimeout(to.host.c_str(), to.port,
                                 {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000});
}

class AdoptedConnections : public ::testing::Test {
 protected:
  AdoptedConnections() { redis.start(); }
  ClientOptions options() const { return {.nodes = {{"", redis.endpoint()}}, .command_timeout = 1h}; }
  std::int64_t connections() {
    const std::string list = redis.call({"CLIENT", "LIST"}).text;
    return std::count(list.begin(), list.end(), '\n');
  }

  ThreadRuntime runtime;
  SocketNetwork sockets{runtime};
  TemporaryFolder folder;
  RedisProcess redis{runtime, sockets, {.folder = folder.path()}};
  CommandNetwork network{runtime, hiredis_connections(&by_hiredis)};
};

TEST_F(AdoptedConnections, CarryEveryKindOfReply) {
  Client client(runtime, network, options());
  EXPECT_EQ(client.call({"SET", "k", "some\r\nbytes"}).reply, status("OK"));
  EXPECT_EQ(client.call({"GET", "k"}).reply.text, "some\r\nbytes");
  EXPECT_EQ(client.call({"STRLEN", "k"}).reply.integer, 11);
  EXPECT_TRUE(client.call({"GET", "none"}).reply.is_nil());
  const Reply nested = client.call({"EVAL", "return {1, {'a', false}, redis.status_reply('x')}", "0"}).reply;
  ASSERT_EQ(nested.items.size(), 3u);
  EXPECT_EQ(nested.items[1].items[0].text, "a");
  EXPECT_TRUE(nested.items[1].items[1].is_nil());
  EXPECT_EQ(nested.items[2], status("x"));
  try {
    client.call({"INCR", "k"});
    ADD_FAILURE() << "no error";
  } catch (const Error& refused) {
    EXPECT_EQ(refused.kind(), Error::Kind::rejected);
    EXPECT_THAT(refused.what(), HasSubstr("not an integer"));
  }
}

TEST_F(AdoptedConnections, ALongTextAndManyCallersGetTheirOwn) {
  Client client(runtime, network, options());
  const std::string large(300'000, 'x');
  client.call({"SET", "large", large});
  std::vector<std::jthread> callers;
  std::atomic<int> right = 0;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 50; ++i) {
        const std::string mine = std::to_string(caller) + ":" + std::to_string(i);
        right += client.call({"ECHO", mine}).reply.text == mine;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(right, 400);
  EXPECT_EQ(client.call({"GET", "large"}).reply.text, large);
}

// A waiter sleeps until it is told: the lease is far longer than the test may take.
TEST_F(AdoptedConnections, AWaiterIsWokenByAMessage) {
  Client one(runtime, network, options()), other(runtime, network, options());
  FairLocks ones(one, {.lease = 1h}), others(other, {.lease = 1h});
  const auto mine = ones.obtain("k"), theirs = others.obtain("k");
  mine->lock();
  std::atomic<bool> granted = false;
  std::jthread waiter([&] {
    theirs->lock();
    granted = true;
    theirs->unlock();
  });
  while (redis.call({"PUBSUB", "CHANNELS"}).items.empty()) runtime.sleep_for(1ms);  // it listens
  EXPECT_FALSE(granted);
  mine->unlock();
  waiter.join();
  EXPECT_TRUE(granted);
}

TEST_F(AdoptedConnections, TheServersEndIsToldAndTheNextOneIsFound) {
  Client client(runtime, network, options());
  client.call({"SET", "k", "v"});
  const auto port = redis.endpoint().port;
  redis.kill();
  CallOptions soon{.deadline = runtime.now() + 300ms};
  try {
    client.call({"GET", "k"}, soon);
    ADD_FAILURE() << "no error";
  } catch (const Error& gone) {
    EXPECT_THAT(gone.what(), ::testing::AnyOf(HasSubstr("hiredis"), HasSubstr("reset"))) << gone.what();
  }
  redis.start({"--port", std::to_string(port)});
  for (;;) {
    try {
      client.call({"SET", "k", "again"});
      break;
    } catch (const Error& lost) {
      EXPECT_TRUE(lost.may_have_executed()) << lost.what();
    }
  }
  EXPECT_EQ(redis.call({"GET", "k"}).text, "again");
}

// What hangs in the application's code ends with the client: BLPOP would wait for ever.
TEST_F(AdoptedConnections, NoConnectionOutlivesTheClient) {
  const std::int64_t before = connections();
  {
    Client client(runtime, network, options());
    client.call({"PING"});
    CallOptions soon{.deadline = runtime.now() + 50ms};
    EXPECT_THROW(client.call({"BLPOP", "nobody", "0"}, soon), Error);
  }
  while (connections() != before) runtime.sleep_for(1ms);
}

TEST_F(AdoptedConnections, WhoCannotConnectSaysWhy) {
  CommandNetwork refusing(runtime, hiredis_connections([](const Endpoint& to, Duration) {
                            return redisConnect(to.host.c_str(), 1);
                          }));
  Client client(runtime, refusing, options());
  try {
    client.call({"PING"});
    ADD_FAILURE() << "no error";
  } catch (const Error& unreachable) {
    EXPECT_FALSE(unreachable.may_have_executed());
    EXPECT_THAT(unreachable.what(), HasSubstr("hiredis: Connection refused"));
  }
}

// hiredis writes as to a file: without care the signal ends the program.
TEST(HiredisConnections, ABrokenConnectionRaisesNoSignal) {
  const auto handler = ::signal(SIGPIPE, SIG_DFL);
  const CommandConnections adopted = hiredis_connections([](const Endpoint&, Duration) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ::close(ends[1]);
    return redisConnectFd(ends[0]);
  });
  EXPECT_THROW(adopted.commands({}, 1s)->execute({{"PING"}}), std::runtime_error);
  EXPECT_THROW(adopted.messages({}, 1s)->send({"PING"}), std::runtime_error);
  sigset_t signals;
  ASSERT_EQ(sigpending(&signals), 0);
  EXPECT_EQ(sigismember(&signals, SIGPIPE), 0) << "nothing is left";
  ASSERT_EQ(sigprocmask(SIG_BLOCK, nullptr, &signals), 0);
  EXPECT_EQ(sigismember(&signals, SIGPIPE), 0) << "nor kept from the application";
  ::signal(SIGPIPE, handler);
}

// --- doubles ----------------------------------------------------------------------------------------------

// Answers as a Redis that has just begun, until it is told to fail.
class Double final : public CommandConnection {
 public:
  struct Said {
    std::mutex mutex;
    std::condition_variable changed;
    Commands commands;
    int cancelled = 0, ended = 0;
    std::string fails_at;  // throws at this command
    std::string hangs_at;  // stays in this one until it is cancelled
    bool too_few = false;  // answers one command less
  };
  explicit Double(Said& said) : said_(said) {}
  ~Double() override {
    const std::lock_guard guard(said_.mutex);
    ++said_.ended;
  }
  std::vector<Reply> execute(const Commands& commands) override {
    std::unique_lock guard(said_.mutex);
    std::vector<Reply> replies;
    for (const auto& command : commands) {
      said_.commands.push_back(command);
      if (command[0] == said_.fails_at) throw std::runtime_error("the pool is empty");
      if (command[0] == said_.hangs_at) said_.changed.wait(guard, [&] { return cancelled_; });
      if (command[0] == "HELLO") {
        replies.push_back(greeting());
      } else {
        replies.push_back(command[0] == "INFO" ? status("maxmemory:0") : status("OK"));
      }
    }
    if (said_.too_few) replies.pop_back();
    return replies;
  }
  void cancel() noexcept override {
    const std::lock_guard guard(said_.mutex);
    ++said_.cancelled;
    cancelled_ = true;
    said_.changed.notify_all();
  }

 private:
  static Reply greeting() {
    Reply reply;
    reply.type = Reply::Type::array;
    for (const char* text : {"server", "redis", "version", "7.0.15", "proto", "2", "role", "master"}) {
      Reply& item = reply.items.emplace_back();
      item.type = Reply::Type::bulk;
      item.text = text;
    }
    return reply;
  }
  Said& said_;
  bool cancelled_ = false;
};

class CommandNetworkTest : public ::testing::Test {
 protected:
  CommandNetwork network_of(Double::Said& said) {
    return {runtime,
            {.commands = [&](const Endpoint&, Duration) { return std::make_unique<Double>(said); },
             .messages = [](const Endpoint&, Duration) { return nullptr; }}};
  }
  const ClientOptions options{.nodes = {{"", {"here", 1}}}, .command_timeout = 1h};
  ThreadRuntime runtime;
};

TEST_F(CommandNetworkTest, AnApplicationThatThrowsBreaksTheConnectionAndIsQuoted) {
  Double::Said said;
  said.fails_at = "SET";
  CommandNetwork network = network_of(said);
  Client client(runtime, network, options);
  try {
    client.call({"SET", "k", "v"});
    ADD_FAILURE() << "no error";
  } catch (const Error& broken) {
    EXPECT_EQ(broken.kind(), Error::Kind::disconnected);
    EXPECT_TRUE(broken.may_have_executed());
    EXPECT_THAT(broken.what(), HasSubstr("the pool is empty"));
  }
  said.fails_at = "";
  EXPECT_EQ(client.call({"SET", "k", "v"}).reply, status("OK"));  // over another connection
}

TEST_F(CommandNetworkTest, TooFewRepliesBreakTheConnection) {
  Double::Said said;
  CommandNetwork network = network_of(said);
  Client client(runtime, network, options);
  client.call({"PING"});
  said.too_few = true;
  try {
    client.call({"SET", "k", "v"});
    ADD_FAILURE() << "no error";
  } catch (const Error& broken) {
    EXPECT_THAT(broken.what(), HasSubstr("1 commands got 0 replies"));
  }
}

TEST_F(CommandNetworkTest, TheEndOfTheClientCancelsWhatHangs) {
  Double::Said said;
  said.hangs_at = "BLPOP";
  {
    CommandNetwork network = network_of(said);
    Client client(runtime, network, options);
    client.call({"PING"});
    EXPECT_THROW(client.call({"BLPOP", "k", "0"}, {.deadline = runtime.now() + 20ms}), Error);
  }
  EXPECT_GE(said.cancelled, 1);
  EXPECT_EQ(said.ended, 1);
}

// The limit on the items of a reply is none on those of a command.
TEST_F(CommandNetworkTest, ACommandMayHaveAsManyArgumentsAsItWants) {
  Double::Said said;
  CommandNetwork network = network_of(said);
  Client client(runtime, network, options);
  std::vector<std::string_view> command(100'000, "k");
  command[0] = "DEL";
  EXPECT_EQ(client.call(command).reply, status("OK"));
  EXPECT_EQ(said.commands.back().size(), command.size());
}

TEST_F(CommandNetworkTest, NobodyCanConnectToIt) {
  Double::Said said;
  CommandNetwork network = network_of(said);
  EXPECT_THROW(static_cast<void>(network.listen({"127.0.0.1", 0})), std::system_error);
}

}  // namespace
}  // namespace holdfast::redis
