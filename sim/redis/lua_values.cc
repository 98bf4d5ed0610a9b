// Conversions between a script and the server: replies become Lua values, and a script's result becomes a
// reply (Redis documentation, "Lua API reference", conversion of data types).
#include "sim/redis/lua_api.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <lua5.1/lua.hpp>

#include "lib/runtime/check.h"
#include "sim/redis/command.h"
#include "sim/redis/script_engine.h"

namespace holdfast::sim::embedded {

std::size_t write_number(double value, char (&text)[64]) {
  constexpr double kShort = 1e16;
  if (value == std::floor(value) && std::fabs(value) < kShort && (value != 0 || !std::signbit(value))) {
    char* const end = std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value)).ptr;
    return static_cast<std::size_t>(end - text);
  }
  return static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", value));
}

void push_reply(lua_State* lua, std::string_view bytes, std::size_t& pos) {
  const char mark = bytes[pos];
  if (mark == ':' || mark == '$') {  // most are short and positive
    std::int64_t small = 0;
    std::size_t at = pos + 1;
    while (bytes[at] >= '0' && bytes[at] <= '9' && at < pos + 10) small = small * 10 + (bytes[at++] - '0');
    if (bytes[at] == '\r') {
      pos = at + 2;
      if (mark == ':') return lua_pushnumber(lua, static_cast<double>(small));
      lua_pushlstring(lua, bytes.data() + pos, static_cast<std::size_t>(small));
      pos += static_cast<std::size_t>(small) + 2;
      return;
    }
  }
  const std::size_t end = bytes.find('\r', pos);
  const std::string_view line = bytes.substr(pos + 1, end - pos - 1);
  pos = end + 2;
  std::int64_t number = 0;
  switch (mark) {
    case ':':
      parse_integer(line, number);
      lua_pushnumber(lua, static_cast<double>(number));
      return;
    case '$':
      parse_integer(line, number);
      if (number < 0) {
        lua_pushboolean(lua, 0);
        return;
      }
      lua_pushlstring(lua, bytes.data() + pos, static_cast<std::size_t>(number));
      pos += static_cast<std::size_t>(number) + 2;
      return;
    case '*':
      parse_integer(line, number);
      if (number < 0) {
        lua_pushboolean(lua, 0);
        return;
      }
      luaL_checkstack(lua, 4, "reply is nested too deeply");
      lua_createtable(lua, static_cast<int>(number), 0);
      for (std::int64_t i = 1; i <= number; ++i) {
        push_reply(lua, bytes, pos);
        lua_rawseti(lua, -2, static_cast<int>(i));
      }
      return;
    default:
      lua_createtable(lua, 0, 1);
      lua_pushlstring(lua, line.data(), line.size());
      lua_setfield(lua, -2, mark == '+' ? "ok" : "err");
      return;
  }
}

void write_value(lua_State* lua, Out& out, int depth) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, -1, &size);
      out.bulk({text, size});
      break;
    }
    case LUA_TBOOLEAN: lua_toboolean(lua, -1) != 0 ? out.integer(1) : out.nil(); break;
    case LUA_TNUMBER: {
      const double value = lua_tonumber(lua, -1);
      constexpr double kLimit = 9223372036854775808.0;
      // As the processor converts: what does not fit becomes the smallest integer.
      out.integer(value >= -kLimit && value < kLimit ? static_cast<std::int64_t>(value) : INT64_MIN);
      break;
    }
    case LUA_TTABLE: {
      if (depth > 200 || lua_checkstack(lua, 4) == 0) {
        out.error("ERR reached lua stack limit");
        break;
      }
      const auto text_field = [&](const char* name) {
        lua_pushstring(lua, name);
        lua_rawget(lua, -2);
        return lua_type(lua, -1) == LUA_TSTRING;
      };
      if (text_field("err")) {
        out.error(lua_tostring(lua, -1));  // up to a NUL, as in Redis
        lua_pop(lua, 1);
        break;
      }
      lua_pop(lua, 1);
      if (text_field("ok")) {
        std::string line(lua_tostring(lua, -1));
        for (char& c : line) c = c == '\r' || c == '\n' ? ' ' : c;
        out.status(line);
        lua_pop(lua, 1);
        break;
      }
      lua_pop(lua, 1);
      std::size_t count = 0;
      for (;; ++count) {  // up to the first nil
        lua_rawgeti(lua, -1, static_cast<int>(count + 1));
        const bool end = lua_isnil(lua, -1);
        lua_pop(lua, 1);
        if (end) break;
      }
      out.array(count);
      for (std::size_t i = 1; i <= count; ++i) {
        lua_rawgeti(lua, -1, static_cast<int>(i));
        write_value(lua, out, depth + 1);
      }
      break;
    }
    default: out.nil(); break;
  }
  lua_pop(lua, 1);
}

}  // namespace holdfast::sim::embedded
