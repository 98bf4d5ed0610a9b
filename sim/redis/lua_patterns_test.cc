// The matcher against Lua's own, on drawn patterns: every result and every complaint.
#include "sim/redis/lua_patterns.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include <lua5.1/lua.hpp>

#include "sim/redis/testing/local_server.h"

namespace holdfast::sim::embedded {
namespace {

// ARGV: a subject and a pattern.
constexpr std::string_view kScript = R"lua(
local s, p = ARGV[1], ARGV[2]
local said = {}
local function say(...)
  for i = 1, select('#', ...) do
    local text = (select(i, ...))
    said[#said + 1] = type(text) .. ' ' .. tostring(text)
  end
  said[#said + 1] = ';'
end
local function each(at)
  local n = 0
  for a, b in string.gmatch(s, p) do
    n = n + 1
    say(a, b)
  end
  return n
end
say(pcall(string.find, s, p))
say(pcall(string.find, s, p, -2))
say(pcall(string.find, s, p, 3, true))
say(pcall(string.match, s, p, 2))
say(pcall(string.gsub, s, p, '<%0.%1>'))
say(pcall(string.gsub, s, p, '%2', 2))
say(pcall(string.gsub, s, p, {a = 'A', b = false, [1] = 7}))
say(pcall(string.gsub, s, p, function(x, y) return y or x end))
say(pcall(each))
return table.concat(said, '|')
)lua";

// What Lua's own library says; after the same conversion of errors to text.
class OfLua {
 public:
  OfLua() : lua_(luaL_newstate()) { luaL_openlibs(lua_); }
  ~OfLua() { lua_close(lua_); }
  OfLua(const OfLua&) = delete;
  OfLua& operator=(const OfLua&) = delete;

  std::string answer(std::string_view subject, std::string_view pattern) {
    lua_newtable(lua_);
    lua_pushlstring(lua_, subject.data(), subject.size());
    lua_rawseti(lua_, -2, 1);
    lua_pushlstring(lua_, pattern.data(), pattern.size());
    lua_rawseti(lua_, -2, 2);
    lua_setglobal(lua_, "ARGV");
    EXPECT_EQ(luaL_loadbuffer(lua_, kScript.data(), kScript.size(), "@user_script"), 0);
    EXPECT_EQ(lua_pcall(lua_, 0, 1, 0), 0) << lua_tostring(lua_, -1);
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua_, -1, &size);
    std::string result(text, size);
    lua_pop(lua_, 1);
    return result;
  }

 private:
  lua_State* lua_;
};

TEST(LuaPatterns, SayWhatLuaSays) {
  static constexpr std::string_view kPieces[] = {
      "a",      "b",  ".",      "%a", "%A",   "%d",   "%w",    "%W",    "%s",   "%z",    "%x", "%p",
      "%%",     "%",  "[",      "]",  "[ab]", "[^a]", "[a-b]", "[%a-]", "[]]",  "[^]a]", "[%", "*",
      "+",      "-",  "?",      "(",  ")",    "()",   "^",     "$",     "%b()", "%bab",  "%b", "%f[a]",
      "%f[%w]", "%f", "%f[^a]", "%1", "%2",   "%0",   "1",     " ",     "\xff"};
  static constexpr std::string_view kLetters = "aaabbb()1 -\xff";
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  LocalServer ours;
  OfLua theirs;
  int complaints = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string pattern, subject;
    for (std::size_t n = below(8); n > 0; --n) pattern += kPieces[below(std::size(kPieces))];
    for (std::size_t n = below(12); n > 0; --n) subject += kLetters[below(kLetters.size())];
    if (below(8) == 0) subject += std::string_view("\0a", 2);
    const std::string wanted = theirs.answer(subject, pattern);
    if (wanted.find("boolean false") != std::string::npos) ++complaints;
    ASSERT_EQ(ours.call({"EVAL", kScript, "0", subject, pattern}),
              "$" + std::to_string(wanted.size()) + "\r\n" + wanted + "\r\n")
        << "subject " << subject << " pattern " << pattern;
  }
  EXPECT_GT(complaints, 1000);
  EXPECT_LT(complaints, 39'000);
}

}  // namespace
}  // namespace holdfast::sim::embedded
