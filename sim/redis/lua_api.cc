#include "sim/redis/lua_api.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include <lua5.1/lua.hpp>

#include "lib/runtime/check.h"
#include "sim/redis/command.h"
#include "sim/redis/lua_guards.h"
#include "sim/redis/script_engine.h"

extern "C" {
int luaopen_cjson(lua_State* lua);
int luaopen_bit(lua_State* lua);
}

namespace holdfast::sim::embedded {
namespace {

constexpr std::size_t kMaxCallArgs = 16'384;
char handler_key, globals_key, protected_key;  // addresses are registry keys

// REQUIRES: called by a function that was set with the engine.
ScriptEngine& engine_of(lua_State* lua) {
  return **static_cast<ScriptEngine**>(lua_touserdata(lua, lua_upvalueindex(1)));
}

// Pushes {err = "CODE text"}. `text` as in a reply without the '-', or with it.
void push_error(lua_State* lua, const char* text, std::size_t size) {
  size = ::strnlen(text, size);  // a text of C, as in Redis
  while (size > 0 && (text[size - 1] == '\r' || text[size - 1] == '\n')) --size;
  lua_createtable(lua, 0, 2);
  if (size > 0 && text[0] == '-') {
    const void* space = std::memchr(text, ' ', size);
    if (space == nullptr) {
      lua_pushliteral(lua, "ERR ");
      lua_pushlstring(lua, text + 1, size - 1);
      lua_concat(lua, 2);
    } else {
      lua_pushlstring(lua, text + 1, size - 1);
    }
  } else {
    lua_pushliteral(lua, "ERR ");
    lua_pushlstring(lua, text, size);
    lua_concat(lua, 2);
  }
  lua_setfield(lua, -2, "err");
}
int raise(lua_State* lua, const char* text) {
  push_error(lua, text, std::strlen(text));
  return lua_error(lua);
}

// --- redis.call, redis.pcall ------------------------------------------------------------------------------

int call_generic(lua_State* lua, bool raise_errors) {
  static_assert(std::is_trivially_destructible_v<std::string_view>);
  const int count = lua_gettop(lua);
  if (count == 0) {
    push_error(lua, "Please specify at least one argument for this redis lib call", 60);
    return raise_errors ? lua_error(lua) : 1;
  }
  if (static_cast<std::size_t>(count) > kMaxCallArgs) return luaL_error(lua, "too many arguments");
  // Room for the arguments without a destructor: a userdata of Lua's, or the stack where they are few.
  std::string_view few[16];
  auto* argv = few;
  if (count > 16) {
    argv = static_cast<std::string_view*>(
        lua_newuserdata(lua, sizeof(std::string_view) * static_cast<std::size_t>(count)));
  }
  for (int i = 1; i <= count; ++i) {
    const int type = lua_type(lua, i);
    if (type == LUA_TNUMBER) {  // not Lua's own %.14g, which would lose digits
      char text[64];
      lua_pushlstring(lua, text, write_number(lua_tonumber(lua, i), text));
      lua_replace(lua, i);
    } else if (type != LUA_TSTRING) {
      push_error(lua, "Lua redis lib command arguments must be strings or integers", 59);
      return raise_errors ? lua_error(lua) : 1;
    }
    std::size_t size = 0;
    const char* bytes = lua_tolstring(lua, i, &size);
    new (&argv[i - 1]) std::string_view(bytes, size);
  }
  ScriptEngine& engine = engine_of(lua);
  if (engine.running() == nullptr)
    return luaL_error(lua, "redis.call/pcall can only be called inside a script invocation");
  bool refused = false;
  const std::string& reply = engine.call_command(Args(argv, static_cast<std::size_t>(count)), refused);
  if (!reply.empty() && reply[0] == '-') {
    lua_createtable(lua, 0, 2);
    lua_pushlstring(lua, reply.data() + 1, reply.size() - 3);
    lua_setfield(lua, -2, "err");
    lua_pushboolean(lua, 1);
    lua_setfield(lua, -2, "ignore_error_stats_update");
    return raise_errors ? lua_error(lua) : 1;
  }
  std::size_t pos = 0;
  push_reply(lua, reply, pos);
  return 1;
}
int redis_call(lua_State* lua) { return call_generic(lua, true); }
int redis_pcall(lua_State* lua) { return call_generic(lua, false); }

// pcall of Redis 7.0: an error table becomes its text.
int plain_pcall(lua_State* lua) {
  const int count = lua_gettop(lua);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (lua_pcall(lua, count - 1, LUA_MULTRET, 0) != 0) {
    lua_remove(lua, 1);
    if (lua_istable(lua, -1)) {
      lua_getfield(lua, -1, "err");
      if (lua_isstring(lua, -1))
        lua_replace(lua, -2);
      else
        lua_pop(lua, 1);
    }
    lua_pushboolean(lua, 0);
    lua_insert(lua, 1);
  }
  return lua_gettop(lua);
}

int single_field_reply(lua_State* lua, const char* field) {
  if (lua_gettop(lua) != 1 || lua_type(lua, -1) != LUA_TSTRING) {
    push_error(lua, "wrong number or type of arguments", 33);
    return 1;
  }
  lua_newtable(lua);
  lua_pushvalue(lua, -2);
  lua_setfield(lua, -2, field);
  return 1;
}
int status_reply(lua_State* lua) { return single_field_reply(lua, "ok"); }
int error_reply(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, -1) != LUA_TSTRING) return single_field_reply(lua, "err");
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, 1, &size);
  if (size == 0 || text[0] != '-') {
    lua_pushliteral(lua, "-");
    lua_insert(lua, 1);
    lua_concat(lua, 2);
    text = lua_tolstring(lua, 1, &size);
  }
  push_error(lua, text, size);
  return 1;
}

int sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise(lua, "wrong number of arguments");
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, 1, &size);
  char digits[40];
  {
    const std::string hex = sha1_hex({text != nullptr ? text : "", size});
    std::memcpy(digits, hex.data(), sizeof digits);
  }
  lua_pushlstring(lua, digits, sizeof digits);
  return 1;
}

int log_message(lua_State* lua) {
  if (lua_gettop(lua) < 2) return raise(lua, "redis.log() requires two arguments or more.");
  if (!lua_isnumber(lua, 1)) return raise(lua, "First argument must be a number (log level).");
  const double level = lua_tonumber(lua, 1);
  if (level < 0 || level > 3) return raise(lua, "Invalid debug level.");
  return 0;  // this server keeps no log
}

int setresp(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise(lua, "redis.setresp() requires one argument.");
  const auto version = static_cast<int>(lua_tonumber(lua, 1));
  if (version != 2 && version != 3) return raise(lua, "RESP version must be 2 or 3.");
  engine_of(lua).set_protocol(static_cast<int>(version));
  return 0;
}

int set_repl(lua_State* lua) {
  if (lua_gettop(lua) != 1) return raise(lua, "redis.set_repl() requires one argument.");
  const auto flags = static_cast<int>(lua_tonumber(lua, 1));
  if ((flags & ~3) != 0) {
    return raise(lua, "Invalid replication flags. Please use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
  }
  engine_of(lua).set_propagation((flags & 2) != 0, (flags & 1) != 0);
  return 0;
}

int replicate_commands(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}
int breakpoint(lua_State* lua) {
  lua_pushboolean(lua, 0);
  return 1;
}
int acl_check_cmd(lua_State* lua) {
  if (lua_gettop(lua) == 0)
    return raise(lua, "Please specify at least one argument for this redis.acl_check_cmd() call");
  const char* name = lua_tostring(lua, 1);
  const bool known = name != nullptr && CommandTable::instance().find(lower(name)) != nullptr;
  if (!known) return raise(lua, "Invalid command passed to redis.acl_check_cmd()");
  lua_pushboolean(lua, 1);
  return 1;
}

int math_random(lua_State* lua) {
  const double r = engine_of(lua).random_fraction();
  switch (lua_gettop(lua)) {
    case 0: lua_pushnumber(lua, r); return 1;
    case 1: {
      const int u = luaL_checkint(lua, 1);
      luaL_argcheck(lua, 1 <= u, 1, "interval is empty");
      lua_pushnumber(lua, std::floor(r * u) + 1);
      return 1;
    }
    case 2: {
      const int l = luaL_checkint(lua, 1);
      const int u = luaL_checkint(lua, 2);
      luaL_argcheck(lua, l <= u, 2, "interval is empty");
      lua_pushnumber(lua, std::floor(r * (u - l + 1)) + l);
      return 1;
    }
    default: return luaL_error(lua, "wrong number of arguments");
  }
}
int math_randomseed(lua_State* lua) {
  engine_of(lua).seed_random(luaL_checkint(lua, 1));
  return 0;
}

// Turns what was raised into {err, source, line}.
int error_handler(lua_State* lua) {
  lua_Debug where;
  bool known = lua_getstack(lua, 1, &where) != 0 && lua_getinfo(lua, "nSl", &where) != 0;
  if (known && std::strcmp(where.what, "C") == 0) {
    known = lua_getstack(lua, 2, &where) != 0 && lua_getinfo(lua, "nSl", &where) != 0;
  }
  if (!lua_istable(lua, 1)) {
    const char* text = lua_tostring(lua, 1);
    lua_newtable(lua);
    lua_pushfstring(lua, "ERR %s", text != nullptr ? text : luaL_typename(lua, 1));
    lua_setfield(lua, -2, "err");
  }
  if (known) {
    lua_pushstring(lua, where.source);
    lua_setfield(lua, -2, "source");
    lua_pushinteger(lua, where.currentline);
    lua_setfield(lua, -2, "line");
  }
  return 1;
}

// --- the sandbox -----------------------------------------------------------------------------------------
// Scripts see empty proxies whose __index is the real table, so that every assignment to a global or to a
// library meets __newindex. (Redis' own Lua is patched to know read-only tables.)

int refuse_new(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

int refuse_unknown(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    lua_tostring(lua, 2) != nullptr ? lua_tostring(lua, 2) : luaL_typename(lua, 2));
}

bool is_protected(lua_State* lua, int index) {
  lua_pushvalue(lua, index);
  lua_pushlightuserdata(lua, &protected_key);
  lua_rawget(lua, LUA_REGISTRYINDEX);
  lua_insert(lua, -2);
  lua_rawget(lua, -2);
  const bool found = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 2);
  return found;
}

int guarded(lua_State* lua) {  // upvalue: the real rawset or setmetatable
  if (lua_istable(lua, 1) && is_protected(lua, 1)) {
    lua_pushliteral(lua, "Attempt to modify a readonly table");  // without a place, unlike an assignment
    return lua_error(lua);
  }
  const int count = lua_gettop(lua);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, count, LUA_MULTRET);
  return lua_gettop(lua);
}

void mark_protected(lua_State* lua);

// What getmetatable() shows of the metatable on top: an empty table that cannot be changed either.
void hide_metatable(lua_State* lua) {
  lua_newtable(lua);
  lua_newtable(lua);
  lua_pushcfunction(lua, refuse_new);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  mark_protected(lua);
  lua_setfield(lua, -2, "__metatable");
}

// Replaces the table on top by its proxy.
void protect(lua_State* lua) {
  lua_newtable(lua);           // proxy
  lua_createtable(lua, 0, 2);  // its metatable
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_new);
  lua_setfield(lua, -2, "__newindex");
  hide_metatable(lua);
  lua_setmetatable(lua, -2);
  lua_remove(lua, -2);
  mark_protected(lua);
}

// Notes that the table on top is not to be changed by rawset and setmetatable either.
void mark_protected(lua_State* lua) {
  lua_pushlightuserdata(lua, &protected_key);
  lua_rawget(lua, LUA_REGISTRYINDEX);
  lua_pushvalue(lua, -2);
  lua_pushboolean(lua, 1);
  lua_rawset(lua, -3);
  lua_pop(lua, 1);
}

// pairs(proxy) and next(proxy) walk the real table.
int next_through(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  if (is_protected(lua, 1)) {
    lua_getmetatable(lua, 1);
    lua_getfield(lua, -1, "__index");
    lua_replace(lua, 1);
    lua_settop(lua, 2);
  }
  if (lua_next(lua, 1) != 0) return 2;
  lua_pushnil(lua);
  return 1;
}
int pairs_through(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

void open_library(lua_State* lua, const char* name, lua_CFunction open) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

void set_function(lua_State* lua, const char* name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}
// For a function that asks engine_of().
void set_function(lua_State* lua, const char* name, lua_CFunction function, ScriptEngine*& engine) {
  lua_pushlightuserdata(lua, &engine);
  lua_pushcclosure(lua, function, 1);
  lua_setfield(lua, -2, name);
}
void set_number(lua_State* lua, const char* name, double value) {
  lua_pushnumber(lua, value);
  lua_setfield(lua, -2, name);
}

void make_redis_table(lua_State* lua, ScriptEngine*& engine) {
  lua_newtable(lua);
  set_function(lua, "call", redis_call, engine);
  set_function(lua, "pcall", redis_pcall, engine);
  set_function(lua, "log", log_message);
  set_function(lua, "setresp", setresp, engine);
  set_function(lua, "sha1hex", sha1hex);
  set_function(lua, "error_reply", error_reply);
  set_function(lua, "status_reply", status_reply);
  set_function(lua, "set_repl", set_repl, engine);
  set_function(lua, "replicate_commands", replicate_commands);
  set_function(lua, "breakpoint", breakpoint);
  set_function(lua, "acl_check_cmd", acl_check_cmd);
  set_number(lua, "LOG_DEBUG", 0);
  set_number(lua, "LOG_VERBOSE", 1);
  set_number(lua, "LOG_NOTICE", 2);
  set_number(lua, "LOG_WARNING", 3);
  set_number(lua, "REPL_NONE", 0);
  set_number(lua, "REPL_AOF", 1);
  set_number(lua, "REPL_SLAVE", 2);
  set_number(lua, "REPL_REPLICA", 2);
  set_number(lua, "REPL_ALL", 3);
  set_number(lua, "REDIS_VERSION_NUM", 0x0007000F);
  lua_pushstring(lua, "7.0.15");
  lua_setfield(lua, -2, "REDIS_VERSION");
  lua_setglobal(lua, "redis");
}

}  // namespace

void install_redis_api(lua_State* lua, ScriptEngine*& engine) {
  lua_pushlightuserdata(lua, &protected_key);
  lua_newtable(lua);
  lua_rawset(lua, LUA_REGISTRYINDEX);
  open_library(lua, "", luaopen_base);
  open_library(lua, LUA_TABLIBNAME, luaopen_table);
  open_library(lua, LUA_STRLIBNAME, luaopen_string);
  open_library(lua, LUA_MATHLIBNAME, luaopen_math);
  open_library(lua, "bit", luaopen_bit);
  open_library(lua, "struct", open_struct_library);
  open_library(lua, "cmsgpack", open_message_pack_library);
  lua_pushcfunction(lua, luaopen_cjson);
  lua_call(lua, 0, 1);
  lua_getfield(lua, -1, "encode_keep_buffer");
  lua_setfield(lua, LUA_REGISTRYINDEX, kKeepBuffer);
  lua_setglobal(lua, "cjson");

  for (const char* gone :
       {"dofile", "loadfile", "print", "newproxy", "setfenv", "getfenv", "module", "require"}) {
    lua_pushnil(lua);
    lua_setglobal(lua, gone);
  }
  for (const char* name : {"rawset", "setmetatable"}) {
    lua_getglobal(lua, name);
    lua_pushcclosure(lua, guarded, 1);
    lua_setglobal(lua, name);
  }
  lua_pushcfunction(lua, next_through);
  lua_pushvalue(lua, -1);
  lua_setglobal(lua, "next");
  lua_pushcclosure(lua, pairs_through, 1);
  lua_setglobal(lua, "pairs");
  lua_register(lua, "pcall", plain_pcall);
  make_redis_table(lua, engine);
  install_guards(lua, engine);
  lua_getglobal(lua, "math");
  set_function(lua, "random", math_random, engine);
  set_function(lua, "randomseed", math_randomseed, engine);
  lua_pop(lua, 1);

  for (const char* library :
       {"redis", "string", "math", "table", "cjson", "bit", "struct", "cmsgpack", "coroutine"}) {
    lua_getglobal(lua, library);
    if (lua_istable(lua, -1)) {
      protect(lua);
      lua_setglobal(lua, library);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushliteral(lua, "");
  if (lua_getmetatable(lua, -1) != 0) {
    hide_metatable(lua);
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  // Unknown globals raise; assignments meet the proxy.
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  lua_newtable(lua);
  lua_pushcfunction(lua, refuse_unknown);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pushlightuserdata(lua, &globals_key);
  lua_pushvalue(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
  lua_pushvalue(lua, -1);
  protect(lua);  // real, proxy
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -3, "_G");
  lua_replace(lua, LUA_GLOBALSINDEX);
  lua_pop(lua, 1);

  lua_pushlightuserdata(lua, &handler_key);
  lua_pushcfunction(lua, error_handler);
  lua_rawset(lua, LUA_REGISTRYINDEX);
}

int push_error_handler(lua_State* lua) {
  lua_pushlightuserdata(lua, &handler_key);
  lua_rawget(lua, LUA_REGISTRYINDEX);
  return lua_gettop(lua);
}

void set_script_arguments(lua_State* lua, Args keys, Args args) {
  lua_pushlightuserdata(lua, &globals_key);
  lua_rawget(lua, LUA_REGISTRYINDEX);
  const auto set = [&](const char* name, Args words) {
    lua_pushstring(lua, name);
    lua_createtable(lua, static_cast<int>(words.size()), 0);
    for (std::size_t i = 0; i < words.size(); ++i) {
      lua_pushlstring(lua, words[i].data(), words[i].size());
      lua_rawseti(lua, -2, static_cast<int>(i + 1));
    }
    lua_rawset(lua, -3);
  };
  set("KEYS", keys);
  set("ARGV", args);
  lua_pop(lua, 1);
}

}  // namespace holdfast::sim::embedded
