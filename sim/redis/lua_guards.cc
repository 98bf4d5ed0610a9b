#include "sim/redis/lua_guards.h"

#include <cmath>
#include <cstdio>

#include <lua5.1/lua.hpp>

#include "sim/redis/lua_heap.h"
#include "sim/redis/lua_patterns.h"
#include "sim/redis/script_engine.h"

namespace holdfast::sim::embedded {
namespace {

// Upvalues of a function that replaces one of a library. The first is the replaced one's own (cjson keeps its
// settings there); none of them has more.
enum Upvalue { kOwn = 1, kReplaced, kEngine, kCountsElements };

// A function of Lua's is called in the frame of the one that replaces it, so that its complaints have the
// same words.
int call_replaced(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(kReplaced))(lua); }

ScriptEngine& engine_of(lua_State* lua) {
  return **static_cast<ScriptEngine**>(lua_touserdata(lua, lua_upvalueindex(kEngine)));
}

// Replaces what is on top, a C function, by another.
void wrap(lua_State* lua, lua_CFunction by, ScriptEngine*& engine, int counts_elements) {
  if (lua_getupvalue(lua, -1, 1) == nullptr) lua_pushnil(lua);
  lua_insert(lua, -2);
  lua_pushlightuserdata(lua, &engine);
  lua_pushinteger(lua, counts_elements);
  lua_pushcclosure(lua, by, kCountsElements);
}

// A function of the table on top.
void replace(lua_State* lua, const char* name, lua_CFunction by, ScriptEngine*& engine,
             int counts_elements = 0) {
  lua_getfield(lua, -1, name);
  if (lua_iscfunction(lua, -1) == 0) return lua_pop(lua, 1);  // not in this build of Lua
  wrap(lua, by, engine, counts_elements);
  lua_setfield(lua, -2, name);
}

std::int64_t cost_of_strings(lua_State* lua, int first, int last) {
  std::size_t bytes = 0;
  for (int i = first; i <= last; ++i) {
    if (lua_type(lua, i) == LUA_TSTRING) bytes += lua_objlen(lua, i);
  }
  return static_cast<std::int64_t>(bytes) / kBytesPerInstruction;
}

// A function whose work no hook sees and which may need no memory (the text that it makes is there already).
// It costs what its strings cost, results included, and one for each result; with so many arguments as
// kCountsElements says, or more, one for each element of its first argument, too.
int with_cost(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  std::int64_t cost = cost_of_strings(lua, 1, arguments);
  const auto counts_from = static_cast<int>(lua_tointeger(lua, lua_upvalueindex(kCountsElements)));
  if (counts_from > 0 && arguments >= counts_from && lua_istable(lua, 1)) {
    cost += static_cast<std::int64_t>(lua_objlen(lua, 1));
  }
  engine_of(lua).charge(cost);
  const int results = call_replaced(lua);
  const int top = lua_gettop(lua);
  engine_of(lua).charge(results + cost_of_strings(lua, top - results + 1, top));
  return results;
}

// Every function of a library that is not replaced by another.
void count_library(lua_State* lua, const char* library, ScriptEngine*& engine) {
  lua_getglobal(lua, library);
  lua_newtable(lua);  // the new ones: a table must not get fields while one walks through it
  for (lua_pushnil(lua); lua_next(lua, -3) != 0; lua_pop(lua, 1)) {
    if (lua_iscfunction(lua, -1) == 0) continue;
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, -2);
    wrap(lua, with_cost, engine, 0);
    lua_rawset(lua, -5);
  }
  for (lua_pushnil(lua); lua_next(lua, -2) != 0;) {
    lua_pushvalue(lua, -2);
    lua_insert(lua, -2);
    lua_rawset(lua, -5);
  }
  lua_pop(lua, 2);
}

// Lua's own, but an object is shown by its serial number in the place of its address: as long as real ones.
int to_string(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (luaL_callmeta(lua, 1, "__tostring") != 0) return 1;
  switch (lua_type(lua, 1)) {
    case LUA_TNUMBER: lua_pushstring(lua, lua_tostring(lua, 1)); break;
    case LUA_TSTRING: lua_pushvalue(lua, 1); break;
    case LUA_TBOOLEAN: lua_pushstring(lua, lua_toboolean(lua, 1) != 0 ? "true" : "false"); break;
    case LUA_TNIL: lua_pushliteral(lua, "nil"); break;
    default: {
      const void* const object = lua_topointer(lua, 1);
      char number[24] = "(nil)";  // of a light userdata: cjson.null
      if (object != nullptr) {
        std::snprintf(number, sizeof number, "0x7f00%08x", static_cast<unsigned>(LuaHeap::serial(object)));
      }
      lua_pushfstring(lua, "%s: %s", luaL_typename(lua, 1), number);
    }
  }
  return 1;
}

int load_string(lua_State* lua) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(lua, 1, &size);
  const char* const name = luaL_optstring(lua, 2, text);
  if (load_text(lua, text, size, name) == 0) return 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

struct Pieces {
  bool first = true, held = false;
};

const char* next_piece(lua_State* lua, void* state, size_t* size) {
  auto& pieces = *static_cast<Pieces*>(state);
  if (pieces.held) {
    pieces.held = false;
    return lua_tolstring(lua, 3, size);
  }
  luaL_checkstack(lua, 2, "too many nested functions");
  lua_pushvalue(lua, 1);
  lua_call(lua, 0, 1);
  if (lua_isnil(lua, -1)) {
    lua_pop(lua, 1);
    *size = 0;
    return nullptr;
  }
  if (lua_isstring(lua, -1) == 0) luaL_error(lua, "reader function must return a string");
  lua_replace(lua, 3);  // kept while it is read
  const char* const text = lua_tolstring(lua, 3, size);
  const bool compiled = pieces.first && *size > 0 && text[0] == LUA_SIGNATURE[0];
  pieces.first = false;
  if (!compiled) return text;
  pieces.held = true;
  *size = 1;
  return " ";
}

int load_function(lua_State* lua) {
  const char* const name = luaL_optstring(lua, 2, "=(load)");
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  lua_settop(lua, 3);
  Pieces pieces;
  if (lua_load(lua, next_piece, &pieces, name) == 0) return 1;
  lua_pushnil(lua);
  lua_insert(lua, -2);
  return 2;
}

// unpack(table, i, j) of Lua 5.1 counts in an int: a range that does not fit is not noticed, and the stack
// overrun.
int unpack_range(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const std::int64_t first = luaL_optint(lua, 2, 1);
  const std::int64_t last =
      lua_isnoneornil(lua, 3) ? static_cast<std::int64_t>(lua_objlen(lua, 1)) : luaL_checkint(lua, 3);
  if (last - first >= INT32_MAX) return luaL_error(lua, "too many results to unpack");
  return with_cost(lua);
}

// bit.tohex(number, digits): of -2^31 digits the library takes the absolute value, which there is none of,
// and writes beyond its buffer. Redis reads one digit less.
int to_hex(lua_State* lua) {
  if (lua_isnumber(lua, 2) != 0) {
    const double digits = std::nearbyint(std::fmod(lua_tonumber(lua, 2), 4294967296.0));
    if (std::fabs(digits) == 2147483648.0) {
      lua_pushnumber(lua, -2147483647.0);
      lua_replace(lua, 2);
    }
  }
  return with_cost(lua);
}

// coroutine.create, coroutine.wrap. The instructions of a coroutine are counted on their own, so each may run
// one count unseen.
int with_coroutine(lua_State* lua) {
  engine_of(lua).charge(kInstructionsPerCount);
  return call_replaced(lua);
}

}  // namespace

int load_text(lua_State* lua, const char* text, unsigned long size, const char* name) {
  if (size == 0 || text[0] != LUA_SIGNATURE[0]) return luaL_loadbuffer(lua, text, size, name);
  lua_pushliteral(lua, " ");  // now it does not begin as compiled code does
  lua_pushlstring(lua, text, size);
  lua_concat(lua, 2);
  std::size_t length = 0;
  const char* const harmless = lua_tolstring(lua, -1, &length);
  const int status = luaL_loadbuffer(lua, harmless, length, name);
  lua_remove(lua, -2);
  return status;
}

void install_guards(lua_State* lua, ScriptEngine*& engine) {
  lua_getglobal(lua, LUA_STRLIBNAME);
  install_patterns(lua, engine);
  for (const char* name : {"byte", "char", "format", "lower", "rep", "reverse", "sub", "upper"}) {
    replace(lua, name, with_cost, engine);
  }
  lua_getglobal(lua, LUA_TABLIBNAME);
  for (const char* name : {"concat", "maxn", "sort"}) replace(lua, name, with_cost, engine, 1);
  replace(lua, "remove", with_cost, engine, 2);
  replace(lua, "insert", with_cost, engine, 3);
  lua_getglobal(lua, LUA_COLIBNAME);
  for (const char* name : {"create", "wrap"}) replace(lua, name, with_coroutine, engine);
  lua_getglobal(lua, "bit");
  replace(lua, "tohex", to_hex, engine);
  lua_getglobal(lua, "redis");
  replace(lua, "sha1hex", with_cost, engine);
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  replace(lua, "unpack", unpack_range, engine);
  lua_pop(lua, 6);
  for (const char* library : {"cjson", "cmsgpack", "struct"}) count_library(lua, library, engine);
  lua_pushcfunction(lua, to_string);
  lua_setglobal(lua, "tostring");
  lua_pushcfunction(lua, load_string);
  lua_setglobal(lua, "loadstring");
  lua_pushcfunction(lua, load_function);
  lua_setglobal(lua, "load");
}

}  // namespace holdfast::sim::embedded
