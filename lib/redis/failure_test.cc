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

}  // namespace
}  // namespace holdfast::redis
