// `holdfast redis` as its users meet it: it listens, answers clients and ends when it is told to.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/server_connection.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

constexpr std::chrono::seconds kLimit(30);

// The program in the background, at a port of its own.
class Served {
 public:
  explicit Served(std::vector<std::string> arguments = {})
      : child_({.program = kTool,
                .arguments = with_port(std::move(arguments)),
                .folder = folder_.path(),
                .output = output()}) {
    const std::string mark = "listens at 127.0.0.1:";
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while (std::chrono::steady_clock::now() < end) {
      const std::string text = read_text(output());
      const std::size_t at = text.find(mark);
      if (at != std::string::npos && text.find('\n', at) != std::string::npos) {
        port_ = static_cast<std::uint16_t>(std::stoi(text.substr(at + mark.size())));
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "it does not listen: " << read_text(output());
  }

  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  redis::Reply call(std::initializer_list<std::string> command) {
    return ServerConnection(network_, {"127.0.0.1", port_}, limit()).call(command, limit());
  }
  MonotonicTime limit() { return deadline_after(runtime_.now(), kLimit); }
  Network& network() { return network_; }
  // Its exit code, as a shell tells it.
  int ended_by(int signal) {
    ::kill(child_.pid(), signal);
    return ended();
  }
  int ended() {
    const auto end = std::chrono::steady_clock::now() + kLimit;
    siginfo_t info{};
    while (std::chrono::steady_clock::now() < end) {
      if (::waitid(P_PID, static_cast<id_t>(child_.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid != 0)
        return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return -1;
  }

 private:
  static std::vector<std::string> with_port(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"redis", "--port", "0"});
    return arguments;
  }
  std::string output() const { return folder_.path() + "/output"; }

  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  ChildProcess child_;
};

TEST(RedisCommand, AnswersAClientAndEndsWhenInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Served served;
    ServerConnection waiting(served.network(), {"127.0.0.1", served.port()}, served.limit());
    waiting.send("BLPOP nothing 0\r\n", served.limit());
    EXPECT_EQ(served.call({"SET", "k", "v", "PX", "60000"}).text, "OK");
    EXPECT_EQ(served.call({"EVAL", "return redis.call('get', KEYS[1])", "1", "k"}).text, "v");
    EXPECT_EQ(served.ended_by(signal), 0);
  }
}

TEST(RedisCommand, RedisCliTalksToIt) {
  if (find_program("redis-cli").empty()) GTEST_SKIP() << "redis-cli is missing (package redis-tools)";
  Served served;
  const Ran ran = run_shell("redis-cli -h 127.0.0.1 -p " + std::to_string(served.port()) +
                            " --no-raw eval 'return {1, \"two\", redis.status_reply(\"fine\")}' 0");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, "1) (integer) 1\n2) \"two\"\n3) fine\n") << ran.err;
}

TEST(RedisCommand, ShutdownEndsIt) {
  Served served;
  ServerConnection client(served.network(), {"127.0.0.1", served.port()}, served.limit());
  client.send("SHUTDOWN NOSAVE\r\n", served.limit());
  EXPECT_EQ(served.ended(), 0);
}

TEST(RedisCommand, TakesSettingsAndAPrimary) {
  Served primary;
  EXPECT_EQ(primary.call({"SET", "k", "v"}).text, "OK");
  Served replica({"--replicaof", primary.address(), "--config", "repl-timeout=17"});
  EXPECT_EQ(replica.call({"CONFIG", "GET", "repl-timeout"}).items.at(1).text, "17");
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (replica.call({"GET", "k"}).text != "v" && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(replica.call({"GET", "k"}).text, "v");
  Served locked({"--config", "requirepass=secret"});
  EXPECT_EQ(locked.call({"PING"}).text, "NOAUTH Authentication required.");
}

TEST(RedisCommand, APortInUseIsOneLine) {
  Served served;
  const Ran ran = holdfast("redis --port " + std::to_string(served.port()));
  EXPECT_EQ(ran.exit, 69);
  EXPECT_EQ(ran.err, "holdfast: redis: port " + std::to_string(served.port()) +
                         " of 127.0.0.1 cannot be had: Address already in use; --port 0 takes a free one\n");
}

TEST(RedisCommand, BadFlagsEndItBeforeItListens) {
  const auto refused = [](const std::string& flags, const std::string& why) {
    const Ran ran = holdfast("redis --port 0 " + flags);
    EXPECT_EQ(ran.exit, 64) << flags;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  };
  refused("--config nonsense", "expected KEY=VALUE");
  refused("--config nonsense=1", "`nonsense=1`: unknown setting");
  refused("--config repl-timeout=soon", "couldn't be parsed into an integer");
  refused("--replicaof nowhere", "expected HOST:PORT");
  refused("--replicaof nowhere:99999", "expected HOST:PORT");
  refused("--port 70000", "--port");
}

}  // namespace
}  // namespace holdfast::tools
