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
    case '_': lua_pushnil(lua); return;
    case '#': lua_pushboolean(lua, line == "t" ? 1 : 0); return;
    case ',': {
      double value = 0;
      parse_real(line, value);
      lua_createtable(lua, 0, 1);
      lua_pushnumber(lua, value);
      lua_setfield(lua, -2, "double");
      return;
    }
    case '(':
      lua_createtable(lua, 0, 1);
      lua_pushlstring(lua, line.data(), line.size());
      lua_setfield(lua, -2, "big_number");
      return;
    case '=':
      parse_integer(line, number);
      lua_createtable(lua, 0, 1);
      lua_createtable(lua, 0, 2);
      lua_pushlstring(lua, bytes.data() + pos + 4, static_cast<std::size_t>(number) - 4);
      lua_setfield(lua, -2, "string");
      lua_pushlstring(lua, bytes.data() + pos, 3);
      lua_setfield(lua, -2, "format");
      lua_setfield(lua, -2, "verbatim_string");
      pos += static_cast<std::size_t>(number) + 2;
      return;
    case '%':
    case '~':  // members become keys
      parse_integer(line, number);
      luaL_checkstack(lua, 5, "reply is nested too deeply");
      lua_createtable(lua, 0, 1);
      lua_createtable(lua, 0, static_cast<int>(number));
      for (std::int64_t i = 0; i < number; ++i) {
        push_reply(lua, bytes, pos);
        mark == '%' ? push_reply(lua, bytes, pos) : lua_pushboolean(lua, 1);
        lua_settable(lua, -3);
      }
      lua_setfield(lua, -2, mark == '%' ? "map" : "set");
      return;
    case '|':  // attributes are not shown to scripts
      parse_integer(line, number);
      for (std::int64_t i = 0; i < 2 * number; ++i) {
        push_reply(lua, bytes, pos);
        lua_pop(lua, 1);
      }
      return push_reply(lua, bytes, pos);
    default:
      lua_createtable(lua, 0, 1);
      lua_pushlstring(lua, line.data(), line.size());
      lua_setfield(lua, -2, mark == '+' ? "ok" : "err");
      return;
  }
}

namespace {

// The entries of the table on top, written as a map or (their keys alone) a set. Pops the table.
void write_entries(lua_State* lua, Out& out, int script_protocol, bool is_map) {
  std::size_t count = 0;
  for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pop(lua, 1)) ++count;
  is_map ? out.map(count) : out.set(count);
  for (lua_pushnil(lua); lua_next(lua, -2) != 0;) {
    lua_pushvalue(lua, -2);
    write_value(lua, out, script_protocol);
    is_map ? write_value(lua, out, script_protocol) : lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
}

// {double = 1.5} and the other tables that name a kind of reply. True when the one on top was one; what it
// says has been written, and the table is still there.
bool write_named_kind(lua_State* lua, Out& out, int script_protocol) {
  const auto has = [&](const char* name, int type) {
    lua_pushstring(lua, name);
    lua_rawget(lua, -2);
    if (lua_type(lua, -1) == type) return true;
    lua_pop(lua, 1);
    return false;
  };
  const auto text_on_top = [&] {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua, -1, &size);
    return std::string_view(text, size);
  };
  if (has("double", LUA_TNUMBER)) {
    out.real(lua_tonumber(lua, -1));
    lua_pop(lua, 1);
    return true;
  }
  if (has("big_number", LUA_TSTRING)) {
    std::string digits(text_on_top());
    for (char& c : digits) c = c == '\r' || c == '\n' ? ' ' : c;
    out.big_number(digits);
    lua_pop(lua, 1);
    return true;
  }
  if (has("verbatim_string", LUA_TTABLE)) {
    if (has("format", LUA_TSTRING)) {
      const std::string format = lua_tostring(lua, -1);
      lua_pop(lua, 1);
      if (has("string", LUA_TSTRING)) {
        out.verbatim(text_on_top(), format);
        lua_pop(lua, 2);
        return true;
      }
    }
    lua_pop(lua, 1);
  }
  for (const bool is_map : {true, false}) {
    if (!has(is_map ? "map" : "set", LUA_TTABLE)) continue;
    write_entries(lua, out, script_protocol, is_map);
    return true;
  }
  return false;
}

}  // namespace

void write_value(lua_State* lua, Out& out, int script_protocol) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, -1, &size);
      out.bulk({text, size});
      break;
    }
    case LUA_TBOOLEAN:
      if (script_protocol > 2)
        out.boolean(lua_toboolean(lua, -1) != 0);
      else
        lua_toboolean(lua, -1) != 0 ? out.integer(1) : out.nil();
      break;
    case LUA_TNUMBER: {
      const double value = lua_tonumber(lua, -1);
      constexpr double kLimit = 9223372036854775808.0;
      // As the processor converts: what does not fit becomes the smallest integer.
      out.integer(value >= -kLimit && value < kLimit ? static_cast<std::int64_t>(value) : INT64_MIN);
      break;
    }
    case LUA_TTABLE: {
      if (lua_checkstack(lua, 4) == 0) {  // at some 8,000, as in Redis
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
      if (write_named_kind(lua, out, script_protocol)) break;
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
        write_value(lua, out, script_protocol);
      }
      break;
    }
    default: out.nil(); break;
  }
  lua_pop(lua, 1);
}

}  // namespace holdfast::sim::embedded
