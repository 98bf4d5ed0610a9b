#include "lib/redis/reply_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::redis {
namespace {

using Next = ReplyReader::Next;
using Type = Reply::Type;

// Every type, nested, empty and nil ones included.
const std::string kStream =
    "+OK\r\n-READONLY You can't write\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n"
    "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n-ERR inner\r\n*1\r\n*1\r\n+deep\r\n:7\r\n";

std::vector<Reply> all(ReplyReader& reader) {
  std::vector<Reply> replies;
  Reply reply;
  while (reader.next(reply) == Next::reply) replies.push_back(reply);
  return replies;
}

TEST(ReplyReader, ReadsEveryType) {
  ReplyReader reader;
  reader.feed(kStream);
  const std::vector<Reply> r = all(reader);
  ASSERT_EQ(r.size(), 10u);
  EXPECT_EQ(r[0].type, Type::status);
  EXPECT_EQ(r[0].text, "OK");
  EXPECT_EQ(r[1].error_code(), "READONLY");
  EXPECT_EQ(r[2].integer, -42);
  EXPECT_EQ(r[3].type, Type::bulk);
  EXPECT_EQ(r[3].text, "a\r\nbc");
  EXPECT_TRUE(r[4].is_nil());
  EXPECT_TRUE(r[5].is_nil());
  EXPECT_EQ(r[6].type, Type::array);
  EXPECT_TRUE(r[6].items.empty());
  EXPECT_EQ(r[7].type, Type::bulk);
  ASSERT_EQ(r[8].items.size(), 3u);
  EXPECT_EQ(r[8].items[1].items[0].text, "x");
  EXPECT_TRUE(r[8].items[1].items[1].is_error());
  EXPECT_EQ(r[8].items[2].items[0].items[0].text, "deep");
  EXPECT_EQ(r[9].integer, 7);
}

// As Redis 6.2.16 says them.
TEST(ReplyReader, AnErrorOfAScriptBeginsWithWhatWasRaised) {
  const auto read = [](const std::string& error) {
    ReplyReader reader;
    reader.feed("-" + error + "\r\n");
    return all(reader).at(0).text;
  };
  const std::string script =
      "ERR Error running script (call to f_7d59c61aaf9ab0859160fb333da4b7ea6be959f9): ";
  const std::string line = script + "@user_script:1: ", twice = line + "@user_script: 1: ";
  EXPECT_EQ(read(line + "WRONGTYPE Operation against a key"), "WRONGTYPE Operation against a key");
  EXPECT_EQ(read(twice + "-READONLY You can't write"), "READONLY You can't write");
  EXPECT_EQ(read(twice + "-OOM command not allowed when used memory > 'maxmemory'."),
            "OOM command not allowed when used memory > 'maxmemory'.");
  EXPECT_EQ(read(twice + "The user executing the script can't run this command or subcommand"),
            "NOPERM The user executing the script can't run this command or subcommand");
  // What has no code of its own stays as it is, and so does what is no such error.
  for (const std::string& error :
       {twice + "Unknown Redis command called from Lua script", line + "user_script:1: READONLY said a user",
        script + "READONLY", line, twice, script + "@user_script:x: READONLY x",
        line + "@user_script: READONLY x", std::string("ERR unknown command"),
        std::string("WRONGTYPE Operation against a key script: 7d59, on @user_script:1.")})
    EXPECT_EQ(read(error), error);
}

TEST(ReplyReader, AnySplitGivesTheSame) {
  ReplyReader whole;
  whole.feed(kStream);
  const std::vector<Reply> expected = all(whole);
  for (std::size_t first = 0; first <= kStream.size(); ++first) {
    for (std::size_t second = first; second <= kStream.size(); second += 7) {
      ReplyReader reader;
      std::vector<Reply> got;
      for (const auto& part :
           {kStream.substr(0, first), kStream.substr(first, second - first), kStream.substr(second)}) {
        reader.feed(part);
        for (Reply& reply : all(reader)) got.push_back(std::move(reply));
      }
      ASSERT_EQ(got, expected) << "split at " << first << " and " << second;
    }
  }
  ReplyReader reader;
  std::vector<Reply> got;
  for (const char c : kStream) {
    reader.feed({&c, 1});
    for (Reply& reply : all(reader)) got.push_back(std::move(reply));
  }
  EXPECT_EQ(got, expected);
}

TEST(ReplyReader, RejectsWhatIsNotResp) {
  for (const char* bytes : {"HTTP/1.1 400 Bad Request\r\n", "*5000000000\r\n", "$-7\r\n", ":12x\r\n"}) {
    ReplyReader reader;
    reader.feed(bytes);
    Reply reply;
    EXPECT_EQ(reader.next(reply), Next::broken) << bytes;
    EXPECT_FALSE(reader.error().empty());
    reader.feed("+OK\r\n");
    EXPECT_EQ(reader.next(reply), Next::broken) << "stays broken";
  }
}

TEST(ReplyReader, AnAnnouncedLengthCostsNoMemory) {
  ReplyReader reader;
  for (int i = 0; i < 5; ++i) reader.feed("*65536\r\n");
  Reply reply;
  EXPECT_EQ(reader.next(reply), Next::incomplete);
}

// The same with each version of hiredis.
TEST(ReplyReader, SevenListsInOneAnotherAreTheMost) {
  for (const int depth : {7, 8, 20}) {
    ReplyReader reader;
    Reply reply;
    for (int i = 0; i < depth; ++i) reader.feed("*1\r\n");
    reader.feed(":1\r\n");
    EXPECT_EQ(reader.next(reply), depth == 7 ? Next::reply : Next::broken) << depth;
    EXPECT_EQ(reader.too_large(), depth > 7) << depth;
    EXPECT_EQ(reader.error().find("more than 7 deep") != std::string::npos, depth > 7) << reader.error();
  }
}

TEST(ReplyReader, AReplyHasAGreatestSizeNumberOfItemsAndDepth) {
  const auto refused = [](std::string_view begin, std::string_view more, int times) {
    ReplyReader reader(1000);
    Reply reply;
    reader.feed(begin);
    Next next = reader.next(reply);
    for (int i = 0; i < times && next != Next::broken; ++i) {
      reader.feed(more);
      next = reader.next(reply);
    }
    return next == Next::broken && reader.too_large();
  };
  EXPECT_TRUE(refused("$2147483647\r\n", "xxxxxxxxxx", 100));
  EXPECT_TRUE(refused("+", "xxxxxxxxxx", 100));
  EXPECT_TRUE(refused("*500\r\n", "$1\r\nx\r\n", 150));
  EXPECT_TRUE(refused("*65537\r\n", "", 0));
  EXPECT_FALSE(refused("$900\r\n", "xxxxxxxxxx", 90));
  std::string whole = "$1100\r\n" + std::string(1100, 'x') + "\r\n";
  EXPECT_TRUE(refused(whole, "", 0)) << "also in one piece";
  ReplyReader reader(1000);  // each for itself, however many come at once
  Reply reply;
  std::string many;
  for (int i = 0; i < 100; ++i) many += "$100\r\n" + std::string(100, 'x') + "\r\n";
  reader.feed(many);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(reader.next(reply), Next::reply) << i;
}

}  // namespace
}  // namespace holdfast::redis
