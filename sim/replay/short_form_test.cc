// Short form: commands and answers as people read them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lib/testing/folders.h"
#include "sim/redis/script_cache.h"
#include "sim/replay/short_form.h"

namespace holdfast::sim {
namespace {

std::string owner(std::string_view text) { return text.starts_with("6f79") ? "c1-7" : ""; }

std::string request(const std::vector<std::string_view>& words) { return short_request(words, owner); }

TEST(ShortForm, OfRequests) {
  EXPECT_EQ(request({"set", "stock:1", "6f79e899:1", "NX", "PX", "5000"}), "SET stock:1 <c1-7> NX PX 5000");
  EXPECT_EQ(request({"SET", "k", "6f79e899:1 write"}), "SET k <c1-7> write");
  std::ostringstream script;
  script << std::ifstream(testing::source_path("lib/lock/reentrant/reentrant_release.lua")).rdbuf();
  const std::string sha1 = embedded::sha1_hex(script.str());
  EXPECT_EQ(request({"EVALSHA", sha1, "1", "k", "6f79e899:1"}), "EVALSHA reentrant_release k <c1-7>");
  EXPECT_EQ(request({"SCRIPT", "LOAD", script.str()}), "SCRIPT LOAD reentrant_release");
  EXPECT_EQ(request({"GET", "two words", ""}), "GET \"two words\" \"\"");
  EXPECT_EQ(request({"GET", "\x1b[2J"}), "GET \\x1b[2J");
  EXPECT_EQ(request({}), "");
  std::vector<std::string_view> many(30, "x");
  EXPECT_EQ(request(many), "X x x x x x x x x +21");
  EXPECT_LT(request({"SET", "k", std::string(100'000, 'x')}).size(), 100U);
}

TEST(ShortForm, OfReplies) {
  using Type = redis::Reply::Type;
  const auto text = [](const redis::Reply& reply) { return short_reply(reply, owner); };
  EXPECT_EQ(text({}), "nil");
  EXPECT_EQ(text({.type = Type::integer, .integer = -2, .text = {}, .items = {}}), "-2");
  EXPECT_EQ(text({.type = Type::status, .integer = 0, .text = "OK", .items = {}}), "OK");
  EXPECT_EQ(text({.type = Type::error, .integer = 0, .text = "MOVED 3 r2", .items = {}}), "-MOVED 3 r2");
  const redis::Reply owned{.type = Type::bulk, .integer = 0, .text = "6f79e899:1", .items = {}};
  redis::Reply list{.type = Type::array, .integer = 0, .text = {}, .items = {{}, owned}};
  EXPECT_EQ(text(list), "[nil, <c1-7>]");
  for (int i = 0; i < 1'000; ++i) list.items.emplace_back();
  EXPECT_LT(text(list).size(), 100U);
  for (int i = 0; i < 1'000; ++i) {
    redis::Reply deeper{.type = Type::array, .integer = 0, .text = {}, .items = {}};
    deeper.items.push_back(std::move(list));
    list = std::move(deeper);
  }
  EXPECT_EQ(text(list), "[[[[...]]]]");
}

// What nobody takes apart: a replication stream, its snapshot, the bus of a Redis Cluster.
TEST(ShortForm, OfChunks) {
  const Link replication{.from = "r2", .to = "r1", .replication = true};
  const auto chunk = [](const Link& link, std::string_view bytes) {
    return short_form({.link = link, .direction = Direction::reply, .bytes = bytes}, owner);
  };
  const std::string select = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n", ping = "*1\r\n$4\r\nPING\r\n",
                    set = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n6f79e899:1\r\n";
  EXPECT_EQ(chunk(replication, select + set).text, "SELECT 0; SET k <c1-7>");
  EXPECT_FALSE(chunk(replication, select + set).routine);
  EXPECT_EQ(chunk(replication, ping).text, "PING");
  EXPECT_TRUE(chunk(replication, ping).routine);
  EXPECT_EQ(chunk(replication, set + set + set + set + "*3\r\n$3\r\nSE").text,
            "SET k <c1-7>; SET k <c1-7>; SET k <c1-7>; 1 more; 10 bytes");
  EXPECT_EQ(chunk(replication, "$176\r\nREDIS").text, "snapshot, 11 bytes");
  EXPECT_EQ(chunk(replication, "+CONTINUE\r\n").text, "+CONTINUE");
  EXPECT_FALSE(chunk(replication, "+CONTINUE\r\n").routine);
  EXPECT_TRUE(chunk(replication, "\n").routine);
  const Link bus{.from = "r2", .to = "r1", .bus = true};
  EXPECT_EQ(chunk(bus, "RCmb").text, "gossip, 4 bytes");
  EXPECT_TRUE(chunk(bus, "RCmb").routine);
}

}  // namespace
}  // namespace holdfast::sim
