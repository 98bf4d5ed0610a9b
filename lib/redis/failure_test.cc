#include "lib/redis/failure.h"

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

TEST(Failure, WhatSaysThatNothingWasDone) {
  const auto says = [](std::string_view command, const char* text) {
    Reply reply;
    reply.type = Reply::Type::error;
    reply.text = text;
    return says_not_executed(command, reply);
  };
  for (const char* text :
       {"READONLY You can't write against a read only replica.", "NOAUTH Authentication required.",
        "LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down",
        "NOSCRIPT No matching script. Please use EVAL.", "NOREPLICAS Not enough good replicas to write.",
        "ERR unknown command 'EVALSHA', with args beginning with: 'x' ",
        "ERR wrong number of arguments for 'evalsha' command", "BUSY Redis is busy running a script."}) {
    EXPECT_TRUE(says("EVALSHA", text)) << text;
    EXPECT_TRUE(says("SET", text)) << text;
  }
  EXPECT_FALSE(says("evalsha", "ERR Error running script: half-way"));
  EXPECT_FALSE(says("EVAL", "ERR Unknown Redis command called from script script: x"));
  EXPECT_FALSE(says("EVAL", "WRONGTYPE Operation against a key holding the wrong kind of value"));
  EXPECT_TRUE(says("SET", "ERR syntax error"));
  EXPECT_FALSE(says("SET", "SOMETHING new"));
}

// Each error that Redis 7 has for a client, and what it means for who asked.
TEST(Failure, TheTable) {
  struct Row {
    const char* text;
    Meaning meaning;
    Error::Kind kind;
  };
  using Kind = Error::Kind;
  for (const Row& row : {
           Row{"LOADING Redis is loading the dataset in memory", Meaning::loading, Kind::passing},
           Row{"BUSY Redis is busy running a script.", Meaning::again, Kind::passing},
           Row{"NOREPLICAS Not enough good replicas to write.", Meaning::again, Kind::passing},
           Row{"MISCONF Redis is configured to save RDB snapshots", Meaning::again, Kind::passing},
           Row{"MISCONF Errors writing to the AOF file: No space left", Meaning::again, Kind::passing},
           Row{"OOM command not allowed when used memory > 'maxmemory'.", Meaning::again, Kind::passing},
           Row{"ERR max number of clients reached", Meaning::again, Kind::passing},
           Row{"ERR max number of clients + cluster connections reached", Meaning::final, Kind::rejected},
           Row{"TRYAGAIN Multiple keys request during rehashing of slot", Meaning::again, Kind::passing},
           Row{"CLUSTERDOWN The cluster is down", Meaning::again, Kind::passing},
           Row{"ERR Script attempted to access a non local key in a cluster node script: 12, on "
               "@user_script:3.",
               Meaning::again, Kind::passing},
           Row{"ERR Lua script attempted to access a non local key in a cluster node", Meaning::again,
               Kind::passing},
           Row{"UNBLOCKED client unblocked via CLIENT UNBLOCK", Meaning::again, Kind::passing},
           Row{"READONLY You can't write against a read only replica.", Meaning::primary, Kind::rejected},
           Row{"MASTERDOWN Link with MASTER is down", Meaning::primary, Kind::rejected},
           Row{"NOMASTERLINK Can't SYNC while not connected with my master", Meaning::primary,
               Kind::rejected},
           Row{"NOSCRIPT No matching script. Please use EVAL.", Meaning::unknown, Kind::rejected},
           Row{"NOAUTH Authentication required.", Meaning::final, Kind::unauthorized},
           Row{"WRONGPASS invalid username-password pair", Meaning::final, Kind::unauthorized},
           Row{"NOPERM this user has no permissions", Meaning::final, Kind::unauthorized},
           Row{"DENIED Redis is running in protected mode", Meaning::final, Kind::rejected},
           Row{"WRONGTYPE Operation against a key", Meaning::final, Kind::rejected},
           Row{"MOVED 3999 127.0.0.1:6381", Meaning::final, Kind::rejected},
           Row{"ASK 3999 127.0.0.1:6381", Meaning::final, Kind::rejected},
           Row{"CROSSSLOT Keys in request don't hash to the same slot", Meaning::final, Kind::rejected},
           Row{"EXECABORT Transaction discarded", Meaning::final, Kind::rejected},
           Row{"NOTBUSY No scripts in execution right now.", Meaning::final, Kind::rejected},
           Row{"UNKILLABLE Sorry the script already executed write commands", Meaning::final, Kind::rejected},
           Row{"NOPROTO unsupported protocol version", Meaning::final, Kind::rejected},
           Row{"BUSYGROUP Consumer Group name already exists", Meaning::final, Kind::rejected},
           Row{"BUSYKEY Target key name already exists.", Meaning::final, Kind::rejected},
           Row{"ERR syntax error", Meaning::final, Kind::rejected},
           Row{"SOMETHING new", Meaning::final, Kind::rejected},
           Row{"", Meaning::final, Kind::rejected},
       }) {
    Reply reply;
    reply.type = Reply::Type::error;
    reply.text = row.text;
    EXPECT_EQ(meaning_of(row.text), row.meaning) << row.text;
    const Error error = rejection("r1", "SET", reply);
    EXPECT_EQ(error.kind(), row.kind) << row.text;
    EXPECT_EQ(error.worth_another_attempt(), row.kind == Kind::passing) << row.text;
    const bool demoted = row.meaning == Meaning::primary;
    EXPECT_EQ(rejection("r1", "SET", reply, true).worth_another_attempt(),
              row.kind == Kind::passing || demoted)
        << row.text;
  }
}

TEST(Failure, WhatAServerSaysIsEscapedAndCut) {
  Reply reply;
  reply.type = Reply::Type::error;
  reply.text = "EVIL\x1b[2J \n::error::\xe2\x80\xae" + std::string(1 << 20, 'x');
  const Error error = rejection("r1", "SET", reply);
  const std::string what = error.what();
  EXPECT_NE(what.find("EVIL\\x1b[2J \\x0a::error::\\xe2\\x80\\xaexxx"), std::string::npos)
      << what.substr(0, 200);
  EXPECT_NE(what.find("(1048598 bytes)"), std::string::npos) << what.substr(0, 500);
  EXPECT_LT(what.size(), 600u);
  EXPECT_EQ(error.code(), "EVIL\\x1b[2J");
  for (const char c : what) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  reply.text = std::string(1 << 20, 'C');  // no space in it: all of it is the code
  EXPECT_LT(rejection("r1", "SET", reply).code().size(), 100u);
  EXPECT_LT(std::string(failure(Error::Kind::protocol, "r1", "SET", true, reply.text).what()).size(), 1200u);
}

}  // namespace
}  // namespace holdfast::redis
