// States of Lua go from one server to the next: nothing of what ran in one is there for the next one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/redis/testing/local_server.h"

namespace holdfast::sim::embedded {
namespace {

std::string eval(LocalServer& server, const std::string& script) {
  return server.call({"EVAL", script, "0"});
}

// What a script can see of the state that it runs in.
std::vector<std::string> seen_in_a_new_server() {
  LocalServer server;
  return {
      eval(server, "return tostring({})"),
      eval(server,
           "local t = {} for i = 1, 9 do t[{}] = i end local s = '' "
           "for _, v in pairs(t) do s = s .. v end return s"),
      eval(server,
           "return {cjson.encode_keep_buffer() and 1 or 0, cjson.encode_max_depth(), "
           "cjson.encode_number_precision()}"),
      eval(server, "return cjson.encode({1, 'a', {b = 2}})"),
      eval(server, "return math.random(1, 1000000)"),
      eval(server, "return collectgarbage('count') < 1000 and 1 or 0"),
  };
}

void use_a_server() {
  LocalServer server;
  eval(server, "cjson.encode_keep_buffer(false) cjson.encode_max_depth(7) cjson.encode_number_precision(3)");
  eval(server, "local t = {} for i = 1, 2000 do t[i] = {i} end KEPT = t");  // refused: no new globals
  eval(server, "local t = {} for i = 1, 2000 do t[i] = 'a text of its own ' .. i end return #t");
  eval(server, "return cjson.encode({string.rep('x', 100000)})");
  eval(server, "return string.rep('y', 3000000)");
  eval(server, "coroutine.wrap(function() error('in the middle') end)()");
  eval(server, "string.format('%d', 'no number')");
  eval(server, "local function f() return f() + 1 end return f()");
}

TEST(LuaState, IsAsNewForTheNextServer) {
  const std::vector<std::string> first = seen_in_a_new_server();
  for (int i = 0; i < 3; ++i) {
    use_a_server();
    EXPECT_EQ(seen_in_a_new_server(), first);
  }
  {  // several at a time: each has its own
    LocalServer one, other;
    EXPECT_EQ(eval(one, "return tostring({})"), first[0]);
    EXPECT_EQ(eval(other, "return tostring({})"), first[0]);
  }
  EXPECT_EQ(seen_in_a_new_server(), first);
}

TEST(LuaState, KeepsABufferOfJsonWhereAScriptAskedForIt) {
  LocalServer server;
  EXPECT_EQ(eval(server, "cjson.encode_keep_buffer(false) return cjson.encode_keep_buffer() and 1 or 0"),
            ":0\r\n");
  EXPECT_EQ(eval(server, "return cjson.encode({string.rep('x', 5)})"), "$9\r\n[\"xxxxx\"]\r\n");
}

}  // namespace
}  // namespace holdfast::sim::embedded
