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
