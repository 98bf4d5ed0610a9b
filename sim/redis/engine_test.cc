// The engine by itself: replies as real Redis 7.0.15 gives them (noted from it), time, effects, transactions.
#include <gtest/gtest.h>

#include "sim/redis/testing/local_server.h"

namespace holdfast::sim::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(EngineTest, StringsAndTheirOptions) {
  LocalServer s;
  EXPECT_EQ(s.ask("SET k v"), "+OK\r\n");
  EXPECT_EQ(s.ask("get k"), "$1\r\nv\r\n");
  EXPECT_EQ(s.ask("SET k w NX"), "$-1\r\n");
  EXPECT_EQ(s.ask("SET k w XX GET"), "$1\r\nv\r\n");
  EXPECT_EQ(s.ask("SET k w NX XX"), "-ERR syntax error\r\n");
  EXPECT_EQ(s.ask("SET k w PX 0"), "-ERR invalid expire time in 'set' command\r\n");
  EXPECT_EQ(s.ask("INCR k"), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(s.ask("INCRBY n 41"), ":41\r\n");
  EXPECT_EQ(s.ask("INCR n"), ":42\r\n");
  EXPECT_EQ(s.ask("INCRBYFLOAT n 0.5"), "$4\r\n42.5\r\n");
  EXPECT_EQ(s.ask("HSET k f v"), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
}

TEST(EngineTest, UnknownCommandsAndArity) {
  LocalServer s;
  EXPECT_EQ(s.ask("nosuch a b"), "-ERR unknown command 'nosuch', with args beginning with: 'a' 'b' \r\n");
  EXPECT_EQ(s.ask("get"), "-ERR wrong number of arguments for 'get' command\r\n");
  EXPECT_EQ(s.ask("client setname"), "-ERR wrong number of arguments for 'client|setname' command\r\n");
  EXPECT_EQ(s.ask("client foo"), "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n");
  EXPECT_EQ(s.ask("SET \"a"), "-ERR Protocol error: unbalanced quotes in request\r\n");
}

TEST(EngineTest, ExpiryIsByTheWallClock) {
  LocalServer s;
  s.ask("SET k v PX 1000");
  EXPECT_EQ(s.ask("PTTL k"), ":1000\r\n");
  s.runtime.advance(milliseconds(1000));
  EXPECT_EQ(s.ask("GET k"), "$1\r\nv\r\n") << "alive at the very millisecond";
  s.runtime.advance(milliseconds(1));
  EXPECT_EQ(s.ask("GET k"), "$-1\r\n");
  s.ask("SET k v PX 10000");
  s.runtime.step_wall(seconds(11));
  EXPECT_EQ(s.ask("EXISTS k"), ":0\r\n");
}

TEST(EngineTest, ActiveExpiryNeedsTicksOnlyWhileSomethingExpires) {
  LocalServer s;
  EXPECT_FALSE(s.engine.needs_ticks());
  s.ask("SET k v PX 150");
  EXPECT_TRUE(s.engine.needs_ticks());
  s.pass(milliseconds(300));
  EXPECT_EQ(s.ask("DBSIZE"), ":0\r\n");
  EXPECT_FALSE(s.engine.needs_ticks());
}

TEST(EngineTest, ScriptsConvertAsRedisDoes) {
  LocalServer s;
  EXPECT_EQ(s.call({"EVAL", "return {1, 2.9, 'a', nil, 3}", "0"}), "*3\r\n:1\r\n:2\r\n$1\r\na\r\n");
  EXPECT_EQ(s.call({"EVAL", "return {ok='fine'}", "0"}), "+fine\r\n");
  EXPECT_EQ(s.call({"EVAL", "return {err='BAD thing'}", "0"}), "-BAD thing\r\n");
  EXPECT_EQ(s.call({"EVAL", "return {true, false}", "0"}), "*2\r\n:1\r\n$-1\r\n");
  EXPECT_EQ(s.call({"EVAL", "redis.call('set', KEYS[1], 9007199254740993) return redis.call('get', KEYS[1])",
                    "1", "k"}),
            "$16\r\n9007199254740992\r\n");
  EXPECT_EQ(s.call({"EVAL", "return #ARGV", "0", "a", "b"}), ":2\r\n");
  EXPECT_EQ(s.call({"EVAL", "return cjson.encode({1,2,3})..bit.tohex(255)", "0"}),
            "$15\r\n[1,2,3]000000ff\r\n");
}

TEST(EngineTest, ScriptErrorsReadAsInRedis) {
  LocalServer s;
  s.ask("SET s abc");
  EXPECT_EQ(
      s.call({"EVAL", "return redis.call('incr', KEYS[1])", "1", "s"}),
      "-ERR value is not an integer or out of range script: 2bab3b661081db58bd2341920e0ba7cf5dc77b25, on "
      "@user_script:1.\r\n");
  EXPECT_EQ(
      s.call({"EVAL", "error('boom')", "0"}),
      "-ERR user_script:1: boom script: 82903a0434f1503e152f89c03c9acd881a0e8150, on @user_script:1.\r\n");
  EXPECT_EQ(s.call({"EVAL", "foo=1", "0"}),
            "-ERR user_script:1: Attempt to modify a readonly table script: "
            "5bddd8336e5f711bfa499383fc73c17560c6250b, "
            "on @user_script:1.\r\n");
  EXPECT_EQ(s.call({"EVAL", "return foo", "0"}),
            "-ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: "
            "47e30a5d10d5694f99208f9adc4fe3bf2450edbd, on @user_script:1.\r\n");
  EXPECT_EQ(s.call({"EVAL", "redis.x=1", "0"}),
            "-ERR user_script:1: Attempt to modify a readonly table script: "
            "5b2bc017c4ad02e0a4040b10e3482419e45c58b0, "
            "on @user_script:1.\r\n");
  EXPECT_EQ(s.ask("EVALSHA abc 0"), "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}

TEST(EngineTest, TransactionsAndWatch) {
  LocalServer s;
  s.ask("WATCH k");
  s.ask("SET k 1", 2);
  EXPECT_EQ(s.ask("MULTI"), "+OK\r\n");
  EXPECT_EQ(s.ask("SET k 2"), "+QUEUED\r\n");
  EXPECT_EQ(s.ask("EXEC"), "*-1\r\n");
  s.ask("MULTI");
  s.ask("INCR k");
  s.ask("LPUSH k x");
  EXPECT_EQ(s.ask("EXEC"),
            "*2\r\n:2\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  s.ask("MULTI");
  s.ask("nosuch");
  EXPECT_EQ(s.ask("EXEC"), "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

TEST(EngineTest, PublishReachesSubscribersOfChannelsAndPatterns) {
  LocalServer s;
  EXPECT_EQ(s.ask("SUBSCRIBE c"), "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
  s.ask("PSUBSCRIBE c*", 2);
  s.take(2);
  EXPECT_EQ(s.ask("PUBLISH c hi", 3), ":2\r\n");
  EXPECT_EQ(s.take(1), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n");
  EXPECT_EQ(s.take(2), "*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$1\r\nc\r\n$2\r\nhi\r\n");
  EXPECT_EQ(
      s.ask("GET x"),
      "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in "
      "this context\r\n");
}

TEST(EngineTest, EffectsReachTheReplicaAsRedisSendsThem) {
  LocalServer s;
  s.ask("REPLCONF listening-port 7000", 9);
  s.ask("PSYNC ? -1", 9);
  const auto stream = [&](std::string_view line) {
    s.take(9);
    s.ask(line);
    return s.take(9);
  };
  EXPECT_EQ(stream("SET k v PX 1000"),
            "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$4\r\nPXAT\r\n"
            "$13\r\n1750000001000\r\n");
  EXPECT_EQ(stream("PEXPIRE k 2000"), "*3\r\n$9\r\nPEXPIREAT\r\n$1\r\nk\r\n$13\r\n1750000002000\r\n");
  s.runtime.advance(seconds(3));
  EXPECT_EQ(stream("GET k"), "*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n");
  EXPECT_EQ(stream("EVAL \"redis.call('set','a','1') redis.call('incr','a')\" 0"),
            "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nset\r\n$1\r\na\r\n$1\r\n1\r\n*2\r\n$4\r\nincr\r\n$1\r\na\r\n"
            "*1\r\n$4\r\nEXEC\r\n");
  EXPECT_EQ(stream("EVAL \"return redis.call('get','a')\" 0"), "");
}

TEST(EngineTest, WhatTheDiskKeeps) {
  Disk disk;
  {
    LocalServer s(PersistenceMode::aof_everysec, &disk);
    s.ask("SET k v");
    s.ask("EVAL \"redis.call('hincrby','h','f','1') redis.call('pexpire','h','5000')\" 0");
  }
  {
    LocalServer s(PersistenceMode::aof_everysec, &disk);
    EXPECT_EQ(s.ask("GET k"), "$1\r\nv\r\n");
    EXPECT_EQ(s.ask("PTTL h"), ":5000\r\n");
  }
  disk.appended = "\r\n*0\r\n" + disk.appended + "*0\r\n";  // requests without a word
  {
    LocalServer s(PersistenceMode::aof_everysec, &disk);
    EXPECT_EQ(s.ask("GET k"), "$1\r\nv\r\n");
  }
  Disk snapshots;
  {
    LocalServer s(PersistenceMode::rdb, &snapshots);
    s.ask("SET before v");
    s.ask("SAVE");
    s.ask("SET after v");
  }
  {
    LocalServer s(PersistenceMode::rdb, &snapshots);
    EXPECT_EQ(s.ask("EXISTS before after"), ":1\r\n");
    s.ask("FLUSHALL");
  }
  LocalServer s(PersistenceMode::rdb, &snapshots);
  EXPECT_EQ(s.ask("DBSIZE"), ":0\r\n") << "with save points FLUSHALL saves";
}

}  // namespace
}  // namespace holdfast::sim::embedded
