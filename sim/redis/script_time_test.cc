// Scripts that take time or would hurt the harness, beyond what conformance/{busy,hostile}.cases compare.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "lib/testing/scene.h"
#include "sim/redis/testing/embedded_oracle.h"
#include "sim/redis/testing/local_server.h"

namespace holdfast::sim::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kBusy =
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n";

TEST(ScriptTime, OthersWaitForFiveSecondsAndAreBusyFromThenOn) {
  LocalServer s;
  EXPECT_EQ(s.ask("EVAL \"while true do end\" 0", 1), "");
  EXPECT_EQ(s.ask("PING", 2), "");
  s.pass(milliseconds(4990));
  EXPECT_EQ(s.take(2), "");
  s.pass(milliseconds(20));
  EXPECT_EQ(s.take(2), kBusy);
  EXPECT_EQ(s.ask("PING", 3), kBusy);
  EXPECT_EQ(s.ask("SCRIPT KILL", 3), "+OK\r\n");
  EXPECT_EQ(s.take(1), "");
  s.pass(milliseconds(1));
  EXPECT_TRUE(s.take(1).starts_with("-ERR Script killed by user with SCRIPT KILL"));
  EXPECT_EQ(s.ask("PING", 2), "+PONG\r\n");
}

// A waiter that a release makes the holder must not hear it before the record stands.
TEST(ScriptTime, WhatAScriptPublishesIsSentWhenItHasEnded) {
  testing::with_fixture(testing::Where::embedded, [](testing::Fixture& fixture) {
    redis::ClientOptions options = fixture.options();
    options.command_timeout = seconds(60);
    redis::Client client(fixture.runtime, fixture.network, options);
    testing::Sign listens(fixture.runtime), heard(fixture.runtime);
    MonotonicTime heard_at{};
    const auto subscription = client.subscribe(
        "c",
        [&](std::string_view) {
          heard_at = fixture.runtime.now();
          heard.give();
        },
        [&] { listens.give(); });
    listens.wait();
    const MonotonicTime asked_at = fixture.runtime.now();
    testing::ask(client,
                 {"EVAL", "redis.call('publish', 'c', 'x') for i = 1, 10000000 do end return 1", "0"});
    heard.wait();
    EXPECT_GE(heard_at - asked_at, milliseconds(100));
    // But while it answers others that it is busy.
    const MonotonicTime again_at = fixture.runtime.now();
    const std::string long_one = "redis.call('publish', 'c', 'x') for i = 1, 600000000 do end return 1";
    testing::ask(client, {"EVAL", long_one, "0"});
    heard.wait(2);
    EXPECT_GE(heard_at - again_at, seconds(5));
    EXPECT_LT(heard_at - again_at, milliseconds(5500));
  });
}

// The documented cost: a hundred million instructions a second.
TEST(ScriptTime, AScriptTakesTimeByItsInstructions) {
  LocalServer s;
  EXPECT_EQ(s.ask("EVAL \"for i = 1, 90000 do end return 1\" 0"), ":1\r\n");  // at once
  EXPECT_EQ(s.ask("EVAL \"for i = 1, 10000000 do end return 2\" 0"), "");
  s.pass(milliseconds(99));
  EXPECT_EQ(s.take(), "");
  s.pass(milliseconds(2));
  EXPECT_EQ(s.take(), ":2\r\n");
  // What libraries and commands do is counted as well.
  EXPECT_EQ(s.ask("EVAL \"for i = 1, 2000 do local x = string.rep('x', 100000) end return 3\" 0"), "");
  s.pass(milliseconds(1000));
  EXPECT_EQ(s.take(), ":3\r\n");
  // The same list is made 2000 times; its text is there from the first time on.
  EXPECT_EQ(s.ask("EVAL \"local t = {} for i = 1, 1000 do t[i] = 'x' end for i = 1, 2000 do "
                  "local s = table.concat(t) end return 3\" 0"),
            "");
  s.pass(milliseconds(25));
  EXPECT_EQ(s.take(), ":3\r\n");
  EXPECT_EQ(s.ask("EVAL \"local t = {} for i = 1, 1000 do t[i] = 1 end for i = 1, 500 do "
                  "table.insert(t, 1, 1) end return 3\" 0"),
            "");
  s.pass(milliseconds(10));
  EXPECT_EQ(s.take(), ":3\r\n");
  EXPECT_EQ(s.ask("EVAL \"local t = {} for i = 1, 5000 do table.insert(t, 1) end return 3\" 0"), ":3\r\n");
  EXPECT_EQ(s.ask("EVAL \"for i = 1, 5000 do redis.call('GET', 'k') end return 4\" 0"), "");
  s.pass(milliseconds(20));
  EXPECT_EQ(s.take(), ":4\r\n");
  EXPECT_EQ(s.ask("EVAL \"for i = 1, 1000 do coroutine.wrap(function() end)() end return 5\" 0"), "");
  s.pass(milliseconds(50));
  EXPECT_EQ(s.take(), ":5\r\n");
}

// redis-server cannot be helped here: its matcher asks nobody.
TEST(ScriptTime, APatternThatNeverEndsIsKilled) {
  LocalServer s;
  for (const char* call : {"find(%s)", "match(%s)", "gsub(%s, '')", "gmatch(%s)()"}) {
    std::string script = call;
    script.replace(script.find("%s"), 2, "('a'):rep(99), ('a?'):rep(99) .. ('a'):rep(99) .. 'b'");
    EXPECT_EQ(s.ask("EVAL \"return string." + script + "\" 0"), "");
    s.pass(seconds(6));
    EXPECT_EQ(s.ask("PING", 2), kBusy);
    EXPECT_EQ(s.ask("SCRIPT KILL", 2), "+OK\r\n");
    s.pass(milliseconds(1));
    EXPECT_TRUE(s.take().starts_with("-ERR Script killed by user")) << script;
  }
}

TEST(ScriptTime, EffectsOfAnUnendedScriptAreNotKept) {
  Disk disk;
  {
    LocalServer s(PersistenceMode::aof_always, &disk);
    s.ask("SET a 1");
    EXPECT_EQ(s.ask("EVAL \"redis.call('SET','a','2') while true do pcall(function() while true do end end) "
                    "redis.call('SET','a','3') end\" 0"),
              "");
    s.pass(seconds(6));
  }
  LocalServer s(PersistenceMode::aof_always, &disk);
  EXPECT_EQ(s.ask("GET a"), "$1\r\n1\r\n");
}

TEST(ScriptTime, WhoLeavesDuringItsScriptTakesNothingWithIt) {
  LocalServer s;
  s.ask("EVAL \"for i = 1, 10000000 do end redis.call('SET','k','v')\" 0", 1);
  s.engine.close_session(s.session(1));
  s.pass(milliseconds(150));
  EXPECT_EQ(s.ask("GET k", 2), "$1\r\nv\r\n");
}

TEST(ScriptTime, AnEndlessOneOutlivesItsClient) {
  LocalServer s;
  for (const bool writes : {false, true}) {
    const std::string first = writes ? "redis.call('SET', 'k', 'v') " : "";
    const int client = writes ? 3 : 1;
    EXPECT_EQ(s.ask("EVAL \"" + first + "while true do redis.call('GET', 'k') end\" 0", client), "");
    s.engine.close_session(s.session(client));
    s.pass(seconds(11));  // twice the time after which one for which nobody can wait is given up
    EXPECT_EQ(s.ask("PING", 2), kBusy);
    const std::string killed = s.ask("SCRIPT KILL", 2);
    if (writes) {
      EXPECT_TRUE(killed.starts_with("-UNKILLABLE")) << killed;
      return;
    }
    EXPECT_EQ(killed, "+OK\r\n");
    s.pass(milliseconds(1));
    EXPECT_EQ(s.ask("PING", 2), "+PONG\r\n");
  }
}

// The plainest endless loop is not executed instruction by instruction. Nobody may see that: another one,
// which is, does the same at the same time.
TEST(ScriptTime, AnIdleLoopTakesTheTimeOfOneThatIsExecuted) {
  const auto life = [](const std::string& loop, const std::string& patience) {
    std::string all;
    for (const std::string& line :
         oracle::play_embedded({"CONFIG SET busy-reply-threshold 3", "send EVAL \"" + loop + "\" 0",
                                "advance " + patience, "2: PING", "2: SCRIPT KILL", "read", "2: TIME"})
             .transcript) {
      if (line.starts_with("send")) continue;                // the two differ in their text,
      all += line.substr(0, line.find(" script: ")) + "\n";  // and so in their digests
    }
    return all;
  };
  for (const char* patience : {"5300us", "6100us", "7700us", "30900us"}) {
    const std::string executed = life("while true do  end", patience);
    EXPECT_NE(executed.find("ERR Script killed by user"), std::string::npos) << executed;
    EXPECT_EQ(life("while true do end", patience), executed) << patience;
  }
}

// Nobody kills it: the run ends all the same, when its world does.
TEST(ScriptTime, AnEndlessScriptEndsWithItsWorld) {
  const auto run = oracle::play_embedded({"send EVAL \"while true do end\" 0", "advance 20s", "2: GET k"});
  ASSERT_EQ(run.transcript.size(), 3u);
  EXPECT_NE(run.transcript.back().find("-BUSY"), std::string::npos);
}

TEST(HostileScripts, MathRandomBeginsAsThatOfRedisServerDoes) {
  LocalServer s;
  // redis-server 7.0.15, just started: three scripts, one number each.
  for (const char* number : {":396465\r\n", ":840486\r\n", ":353337\r\n"}) {
    EXPECT_EQ(s.ask("EVAL \"return math.random(1000000)\" 0"), number);
  }
}

TEST(HostileScripts, NoAddressReachesAScript) {
  const std::string order =
      "EVAL \"local t, r = {}, {} for i = 1, 200 do t[{}] = i t[function() return i end] = -i "
      "t[coroutine.create(function() end)] = 1000 + i end for k, v in pairs(t) do r[#r + 1] = v end "
      "for i = 1, 20 do r[#r + 1] = tostring({}) .. tostring(function() return i end) end return r\" 0";
  LocalServer first;
  const auto answer = [&](LocalServer& s) {
    const std::string begun = s.ask(order);
    s.pass(milliseconds(100));
    return begun + s.take();
  };
  const std::string once = answer(first);
  ASSERT_GT(once.size(), 4000u);
  for (int i = 0; i < 5; ++i) {  // each with memory elsewhere
    LocalServer another;
    ASSERT_EQ(answer(another), once);
  }
  EXPECT_NE(first.ask("EVAL \"local a, b = {}, {} return tostring(a) == tostring(b)\" 0"), ":1\r\n");
}

TEST(HostileScripts, MemoryHasAnEnd) {
  LocalServer s;
  const std::string answer =
      s.ask("EVAL \"local t = {} for i = 1, 100000 do t[i] = string.rep('x', 10000000 + i) end\" 0");
  s.pass(seconds(4));
  EXPECT_TRUE((answer + s.take()).starts_with("-ERR not enough memory")) << answer;
  EXPECT_EQ(s.ask("EVAL \"return #string.rep('x', 1000000)\" 0"), ":1000000\r\n");
}

TEST(HostileScripts, RepliesNestAsDeepAsLuaAllows) {
  LocalServer s;
  const std::string deep = s.ask("EVAL \"local t = {} for i = 1, 5000 do t = {t} end return t\" 0");
  EXPECT_EQ(deep.size(), 5001u * 4);
  EXPECT_TRUE(deep.ends_with("*1\r\n*0\r\n"));
  const std::string deeper = s.ask("EVAL \"local t = {} for i = 1, 9000 do t = {t} end return t\" 0");
  EXPECT_TRUE(deeper.ends_with("-ERR reached lua stack limit\r\n"));
}

TEST(HostileScripts, APatternThatRedisServerDiesOfIsRefused) {
  LocalServer s;
  std::string answer =
      s.ask("EVAL \"return string.find(string.rep('a',300000), string.rep('a?',300000))\" 0");
  s.pass(milliseconds(10));
  answer += s.take();
  EXPECT_TRUE(answer.starts_with("-ERR user_script:1: pattern too complex")) << answer;
  EXPECT_EQ(s.ask("EVAL \"return string.find(string.rep('a',16000), string.rep('a?',16000))\" 0"), ":1\r\n");
}

}  // namespace
}  // namespace holdfast::sim::embedded
