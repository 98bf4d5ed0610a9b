// The pipelined connection against a stream whose other end is the test.
#include "lib/redis/connection.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/testing/ports.h"
#include "lib/testing/scripted_stream.h"

namespace holdfast::redis {
namespace {

using namespace std::chrono_literals;
using testing::on_ports;
using testing::Ports;
using testing::ScriptedStream;
using Outcome = Connection::Outcome;

const std::string kGet = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";

class Bench {
 public:
  explicit Bench(Runtime& runtime, Connection::Settings settings = {1h, 65536})
      : runtime(runtime),
        script(runtime),
        connection(
            std::make_shared<Connection>(runtime, std::make_unique<ScriptedStream>(script), 0, settings)) {}
  ~Bench() { connection->shutdown(); }

  struct Got {
    Connection::Result result;
    std::vector<Reply> replies;
  };
  Got get(Duration wait = 30s, bool background = false, std::size_t count = 1, std::string_view key = "k") {
    const std::vector<std::string_view> arguments = {"GET", key};
    const std::vector<CommandView> commands(count, CommandView{{arguments, {}, {}}});
    Got got;
    got.replies.resize(count);
    const MonotonicTime now = runtime.now();
    got.result = connection->execute(commands, got.replies, now, now + wait, background);
    return got;
  }
  Task spawn_get(Got& into, Duration wait = 30s, bool background = false, std::size_t count = 1) {
    return runtime.spawn("caller",
                         [this, &into, wait, background, count] { into = get(wait, background, count); });
  }

  Runtime& runtime;
  testing::Script script;
  std::shared_ptr<Connection> connection;
};

// What depends on how long something takes is tested in virtual time only (ConnectionInVirtualTime).
class ConnectionOn : public ::testing::TestWithParam<Ports> {
 protected:
  static void run(const std::function<void(Runtime&)>& body) {
    on_ports(GetParam(), [&](Runtime& runtime, Network&) { body(runtime); });
  }
};

TEST_P(ConnectionOn, ManyTasksShareItInOrder) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    constexpr std::size_t kTasks = 20;
    constexpr int kRounds = 50;
    bool stop = false;
    Task server = runtime.spawn("server", [&] {
      // Answers each GET key with its key, several at a time and cut at odd places.
      std::size_t seen = 0;
      for (;;) {
        std::string requests;
        {
          std::unique_lock lock(bench.script.mutex);
          bench.script.changed.wait_until(lock, kNever,
                                          [&] { return stop || bench.script.written.size() > seen; });
          if (stop) return;
          requests = bench.script.written.substr(seen);
        }
        std::size_t used = 0;
        std::string replies;
        for (std::size_t at = requests.find("GET\r\n"); at != std::string::npos;
             at = requests.find("GET\r\n", at + 1)) {
          const std::size_t size_at = at + 6;
          const std::size_t eol = requests.find("\r\n", size_at);
          if (eol == std::string::npos) break;
          const std::size_t size = std::stoul(requests.substr(size_at, eol - size_at));
          if (requests.size() < eol + 2 + size + 2) break;
          replies += "$" + std::to_string(size) + "\r\n" + requests.substr(eol + 2, size) + "\r\n";
          used = eol + 2 + size + 2;
        }
        seen += used;
        for (std::size_t i = 0; i < replies.size(); i += 13) bench.script.feed(replies.substr(i, 13));
      }
    });
    std::vector<Task> tasks;
    std::vector<int> right(kTasks, 0);
    for (std::size_t t = 0; t < kTasks; ++t) {
      tasks.push_back(runtime.spawn("caller", [&, t] {
        for (int round = 0; round < kRounds; ++round) {
          const std::string key = std::to_string(t) + ":" + std::to_string(round);
          const Bench::Got got = bench.get(60s, t % 5 == 0, 1, key);
          if (got.result.outcome == Outcome::replied && got.replies[0].text == key) ++right[t];
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(right, std::vector<int>(kTasks, kRounds));
    {
      const std::unique_lock lock(bench.script.mutex);
      stop = true;
      bench.script.changed.notify_all();
    }
    server.join();
  });
}

TEST_P(ConnectionOn, ALateReplyIsDroppedAndTheNextCallGetsItsOwn) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    const Bench::Got first = bench.get(5ms);
    EXPECT_EQ(first.result.outcome, Outcome::timed_out);
    EXPECT_TRUE(first.result.may_have_executed);
    Bench::Got second;
    Task task = bench.spawn_get(second);
    bench.script.wait_written(2 * kGet.size());
    bench.script.feed("+late\r\n+mine\r\n");
    task.join();
    EXPECT_EQ(second.result.outcome, Outcome::replied);
    EXPECT_EQ(second.replies[0].text, "mine");
  });
}

TEST_P(ConnectionOn, ALatePieceOfAGroupIsDroppedToo) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.feed("");
    Bench::Got group;
    Task first = bench.spawn_get(group, 20ms, false, 3);
    bench.script.wait_written(3 * kGet.size());
    bench.script.feed("+1\r\n+2");
    first.join();
    EXPECT_EQ(group.result.outcome, Outcome::timed_out);
    Bench::Got second;
    Task task = bench.spawn_get(second);
    bench.script.wait_written(4 * kGet.size());
    bench.script.feed("\r\n+3\r\n+mine\r\n");
    task.join();
    EXPECT_EQ(second.replies[0].text, "mine");
  });
}

TEST_P(ConnectionOn, TheDeadlineOfOneDoesNotTouchAnother) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    Bench::Got quick, slow;
    Task a = bench.spawn_get(quick, 10ms);  // reads for both, then hands the reading on
    bench.script.wait_written(kGet.size());
    Task b = bench.spawn_get(slow, 30s);
    a.join();
    bench.script.wait_written(2 * kGet.size());
    EXPECT_EQ(quick.result.outcome, Outcome::timed_out);
    bench.script.feed("+a\r\n+b\r\n");
    b.join();
    EXPECT_EQ(slow.replies[0].text, "b");
  });
}

TEST_P(ConnectionOn, WhatWasNeverWrittenIsTakenBack) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.allow(5);  // the first command gets stuck half-way
    Bench::Got stuck, unsent, third;
    Task a = bench.spawn_get(stuck, 100ms);
    bench.script.wait_written(5);
    Task b = bench.spawn_get(unsent, 10ms);
    b.join();
    EXPECT_EQ(unsent.result.outcome, Outcome::timed_out);
    EXPECT_FALSE(unsent.result.may_have_executed);
    a.join();
    EXPECT_EQ(stuck.result.outcome, Outcome::timed_out);
    EXPECT_TRUE(stuck.result.may_have_executed);
    // The half command is completed, the one taken back never appears.
    Task c = bench.spawn_get(third);
    bench.script.allow(1000);
    bench.script.wait_written(2 * kGet.size());
    EXPECT_EQ(bench.script.written, kGet + kGet);
    bench.script.feed("+stuck\r\n+third\r\n");
    c.join();
    EXPECT_EQ(third.replies[0].text, "third");
  });
}

TEST_P(ConnectionOn, ABreakTellsWhoWasSentAndWhoWasNot) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.allow(kGet.size() + 3);
    Bench::Got sent, half, unsent;
    Task a = bench.spawn_get(sent);
    bench.script.wait_written(kGet.size());
    Task b = bench.spawn_get(half);
    bench.script.wait_written(kGet.size() + 3);
    Task c = bench.spawn_get(unsent, 50ms);
    c.join();
    bench.script.finish(IoStatus::reset);
    a.join();
    b.join();
    EXPECT_EQ(sent.result.outcome, Outcome::broken);
    EXPECT_TRUE(sent.result.may_have_executed);
    EXPECT_EQ(half.result.outcome, Outcome::broken);
    EXPECT_TRUE(half.result.may_have_executed);
    EXPECT_FALSE(unsent.result.may_have_executed);
    EXPECT_FALSE(bench.connection->usable());
    EXPECT_EQ(bench.connection->why_broken(), "connection reset");
    const Bench::Got after = bench.get();
    EXPECT_EQ(after.result.outcome, Outcome::broken);
    EXPECT_FALSE(after.result.may_have_executed);
  });
}

TEST_P(ConnectionOn, ADeathWhileIdleIsNoticedBeforeSending) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.finish(IoStatus::eof);
    runtime.sleep_for(5ms);  // long enough to look first
    const Bench::Got got = bench.get();
    EXPECT_EQ(got.result.outcome, Outcome::broken);
    EXPECT_FALSE(got.result.may_have_executed);
    EXPECT_EQ(bench.script.written, "");
  });
}

// While the first call looks whether the connection still lives it has the role of the reader, and another
// one leaves the reading to it. Then it learns that it must not send here.
TEST(ConnectionInVirtualTime, WhoLooksAndLeavesHandsTheReadingOn) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const bool background : {false, true}) {
    on_ports(Ports::embedded, [&](Runtime& runtime, Network&) {
      Bench bench(runtime);
      runtime.sleep_for(5ms);  // long enough to look first
      bench.script.hold_probes(true);
      const MonotonicTime begin = runtime.now();
      Bench::Got looks, other;
      Task a = bench.spawn_get(looks);
      runtime.sleep_for(1ms);
      Task b = bench.spawn_get(other, 30s, background);
      bench.script.wait_written(kGet.size());
      runtime.sleep_for(1ms);
      bench.connection->retire();
      bench.script.hold_probes(false);
      a.join();
      EXPECT_EQ(looks.result.outcome, Outcome::broken);
      EXPECT_FALSE(looks.result.may_have_executed);
      bench.script.feed("+other\r\n");
      b.join();
      EXPECT_EQ(other.replies[0].text, "other");
      EXPECT_LT(runtime.now() - begin, 1s) << "somebody reads at once, not when the deadline has passed";
    });
  }
}

TEST(ConnectionInVirtualTime, SilenceBreaksIt) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network&) {
    Bench bench(runtime, {30ms, 100});
    EXPECT_EQ(bench.get(5ms).result.outcome, Outcome::timed_out);
    EXPECT_TRUE(bench.connection->usable()) << "one late reply is no reason";
    EXPECT_EQ(bench.get(50ms).result.outcome, Outcome::timed_out);
    EXPECT_FALSE(bench.connection->usable());
    EXPECT_NE(bench.connection->why_broken().find("no reply for"), std::string::npos);
  });
}

// The reader task may be the one that notices, when all background calls have given up: whoever still waits
// is told at once.
TEST(ConnectionInVirtualTime, SilenceThatTheTaskNoticesIsTheEndForAll) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network&) {
    Bench bench(runtime, {30ms, 100});
    Bench::Got answered, late, front;
    const MonotonicTime begin = runtime.now();
    Task a = bench.spawn_get(answered, 40ms, true);
    bench.script.wait_reading();  // by the reader task, for 40 ms
    Task b = bench.spawn_get(late, 29ms, true);
    Task c = bench.spawn_get(front, 10s);
    runtime.sleep_until(begin + 5ms);
    bench.script.feed("+OK\r\n");
    a.join();
    b.join();
    EXPECT_TRUE(bench.connection->usable()) << "24 ms are no silence yet";
    c.join();
    EXPECT_EQ(late.result.outcome, Outcome::timed_out);
    EXPECT_EQ(front.result.outcome, Outcome::broken);
    EXPECT_TRUE(front.result.may_have_executed);
    EXPECT_LT(runtime.now() - begin, 100ms);
  });
}

// The argument is longer than any string can be, as one that no memory is left for.
TEST_P(ConnectionOn, ACommandThatCannotBeQueuedLeavesNothingBehind) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    const std::string_view key = "k";
    const std::vector<std::string_view> good = {"GET", key};
    const std::vector<std::string_view> bad = {"GET", {key.data(), std::string().max_size() + 1}};
    const std::vector<CommandView> commands = {{{good, {}, {}}}, {{bad, {}, {}}}};
    std::vector<Reply> replies(2);
    const MonotonicTime now = runtime.now();
    EXPECT_THROW(bench.connection->execute(commands, replies, now, now + 30s, false), std::length_error);
    EXPECT_TRUE(bench.connection->idle());
    Bench::Got next;
    Task task = bench.spawn_get(next);
    bench.script.wait_written(kGet.size());
    bench.script.feed("+mine\r\n");
    task.join();
    EXPECT_EQ(bench.script.written, kGet);
    EXPECT_EQ(next.replies[0].text, "mine");
  });
}

TEST_P(ConnectionOn, TheQueueIsBounded) {
  run([](Runtime& runtime) {
    Bench bench(runtime, {1s, 3});
    EXPECT_EQ(bench.get(1ms, false, 2).result.outcome, Outcome::timed_out);  // two replies are still to come
    const Bench::Got full = bench.get(1s, false, 2);
    EXPECT_EQ(full.result.outcome, Outcome::full);
    EXPECT_FALSE(full.result.may_have_executed);
  });
}

TEST_P(ConnectionOn, ARetiredOneTakesNothingNewAndFinishesWhatItHas) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    Bench::Got old;
    Task task = bench.spawn_get(old);
    bench.script.wait_written(kGet.size());
    bench.connection->retire();
    const Bench::Got refused = bench.get();
    EXPECT_EQ(refused.result.outcome, Outcome::broken);
    EXPECT_FALSE(refused.result.may_have_executed);
    bench.script.feed("+old\r\n");
    task.join();
    EXPECT_EQ(old.replies[0].text, "old");
    EXPECT_EQ(bench.script.written, kGet);
  });
}

TEST_P(ConnectionOn, WhatIsNotRespBreaksIt) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.feed("HTTP/1.1 400\r\n");
    const Bench::Got got = bench.get();
    EXPECT_EQ(got.result.outcome, Outcome::protocol);
    EXPECT_NE(bench.connection->why_broken().find("is this a Redis server?"), std::string::npos);
  });
}

TEST_P(ConnectionOn, AnUnaskedReplyBreaksIt) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.feed("-ERR max number of clients reached\r\n");
    runtime.sleep_for(5ms);
    const Bench::Got got = bench.get();
    EXPECT_EQ(got.result.outcome, Outcome::broken);
    EXPECT_FALSE(got.result.may_have_executed);
    EXPECT_NE(bench.connection->why_broken().find("max number of clients"), std::string::npos);
  });
}

TEST_P(ConnectionOn, ABackgroundCallTakesNoRole) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    Bench::Got got;
    TaskId caller = 0;
    Task task = runtime.spawn("watchdog", [&] {
      caller = runtime.task_id();
      got = bench.get(30s, true);
    });
    bench.script.wait_reading();  // by the reader task
    bench.script.feed("+OK\r\n");
    task.join();
    EXPECT_EQ(got.replies[0].text, "OK");
    EXPECT_FALSE(bench.script.readers.contains(caller));
    EXPECT_FALSE(bench.script.writers.contains(caller));
    EXPECT_EQ(bench.script.readers.size(), 1u);
  });
}

TEST_P(ConnectionOn, AForegroundCallIsServedWhileOnlyABackgroundOneWaits) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    Bench::Got back, front;
    Task a = bench.spawn_get(back, 30s, true);
    bench.script.wait_reading();
    Task b = bench.spawn_get(front);
    bench.script.wait_written(2 * kGet.size());
    bench.script.feed("+back\r\n");
    a.join();
    bench.script.feed("+front\r\n");  // the reader task has ended or goes on; either way it is read
    b.join();
    EXPECT_EQ(back.replies[0].text, "back");
    EXPECT_EQ(front.replies[0].text, "front");
  });
}

TEST_P(ConnectionOn, BackgroundCallsGoOnWhenTheForegroundReaderLeaves) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    Bench::Got back, front;
    Task a = bench.spawn_get(front);
    bench.script.wait_reading();
    Task b = bench.spawn_get(back, 30s, true);
    bench.script.wait_written(2 * kGet.size());
    bench.script.feed("+front\r\n");
    a.join();
    bench.script.feed("+back\r\n");
    b.join();
    EXPECT_EQ(front.replies[0].text, "front");
    EXPECT_EQ(back.replies[0].text, "back");
  });
}

// Each call moves the moment until which the reader task waits, while it waits (for the thread sanitizer).
TEST_P(ConnectionOn, BackgroundCallsJoinWhileTheReaderTaskWaits) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    constexpr std::size_t kCalls = 10;
    Bench::Got front;
    std::vector<Bench::Got> back(kCalls);
    Task reader = bench.spawn_get(front);
    bench.script.wait_reading();  // so that the reader task has nothing to read
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < kCalls; ++i) {
      tasks.push_back(bench.spawn_get(back[i], std::chrono::seconds(30 + i), true));
      bench.script.wait_written((2 + i) * kGet.size());
    }
    bench.script.feed("+front\r\n");
    for (std::size_t i = 0; i < kCalls; ++i) bench.script.feed("+" + std::to_string(i) + "\r\n");
    reader.join();
    tasks.clear();
    EXPECT_EQ(front.replies[0].text, "front");
    for (std::size_t i = 0; i < kCalls; ++i) EXPECT_EQ(back[i].replies[0].text, std::to_string(i));
  });
}

TEST(ConnectionInVirtualTime, ABackgroundCallHasItsDeadline) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network&) {
    Bench bench(runtime, {20ms, 100});
    const Bench::Got got = bench.get(30ms, true);
    EXPECT_EQ(got.result.outcome, Outcome::timed_out);
    EXPECT_TRUE(got.result.may_have_executed);
  });
}

TEST_P(ConnectionOn, TheReaderTaskWritesOnWhereTheNetworkTookAPart) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.allow(4);
    Bench::Got got;
    Task task = bench.spawn_get(got, 30s, true);
    bench.script.wait_written(4);
    bench.script.allow(1000);
    bench.script.wait_written(kGet.size());
    bench.script.feed("+OK\r\n");
    task.join();
    EXPECT_EQ(got.replies[0].text, "OK");
  });
}

// The reader sleeps in a read and cannot be told to write: whoever leaves must not leave its bytes behind.
TEST_P(ConnectionOn, AnAnsweredWriterDoesNotLeaveTheReadersBytesBehind) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    bench.script.allow(5);
    Bench::Got writer, reader;
    Task a = bench.spawn_get(writer);
    bench.script.wait_written(5);  // stuck in its write
    Task b = bench.spawn_get(reader);
    bench.script.wait_reading();
    bench.script.feed("+early\r\n");  // settles the writer
    bench.script.allow(1000);
    a.join();
    bench.script.wait_written(2 * kGet.size());
    bench.script.feed("+b\r\n");
    b.join();
    EXPECT_EQ(reader.replies[0].text, "b");
  });
}

TEST(ConnectionInVirtualTime, AWriterThatGivesUpDoesNotLeaveTheReadersBytesBehind) {
  HF_NEEDS_VIRTUAL_TIME();
  on_ports(Ports::embedded, [](Runtime& runtime, Network&) {
    Bench bench(runtime);
    bench.script.allow(5);
    Bench::Got writer, reader;
    Task a = bench.spawn_get(writer, 50ms);
    bench.script.wait_written(5);
    Task b = bench.spawn_get(reader);
    bench.script.wait_reading();
    a.join();
    EXPECT_EQ(writer.result.outcome, Outcome::timed_out);
    bench.script.allow(1000);
    bench.script.wait_written(2 * kGet.size());
    bench.script.feed("+a\r\n+b\r\n");
    b.join();
    EXPECT_EQ(reader.replies[0].text, "b");
  });
}

TEST_P(ConnectionOn, ShutdownEndsWhoWaits) {
  run([](Runtime& runtime) {
    Bench bench(runtime);
    Bench::Got front, back;
    Task a = bench.spawn_get(front);
    Task b = bench.spawn_get(back, 30s, true);
    bench.script.wait_written(2 * kGet.size());
    bench.connection->shutdown();
    a.join();
    b.join();
    EXPECT_EQ(front.result.outcome, Outcome::broken);
    EXPECT_EQ(back.result.outcome, Outcome::broken);
    EXPECT_TRUE(front.result.may_have_executed);
  });
}

INSTANTIATE_TEST_SUITE_P(, ConnectionOn, testing::all_ports(),
                         [](const auto& info) { return testing::to_string(info.param); });

}  // namespace
}  // namespace holdfast::redis
