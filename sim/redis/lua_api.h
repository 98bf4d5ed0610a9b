// What scripts see of Redis: the table `redis`, the sandbox, and the conversions between Lua and RESP.
//
// Lua reports errors by longjmp: functions called from Lua keep no object with a destructor alive across a
// call that can raise.
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/redis/resp.h"

struct lua_State;

namespace holdfast::sim::embedded {

class ScriptEngine;

// Opens the allowed libraries, makes `redis`, protects the globals. What is installed asks the engine that
// `engine` points to at that time.
void install_redis_api(lua_State* lua, ScriptEngine*& engine);

// Pushes one RESP reply at bytes[pos..] as a Lua value.
void push_reply(lua_State* lua, std::string_view bytes, std::size_t& pos);
// Pops the value on top and writes it as Redis answers it.
void write_value(lua_State* lua, Out& out, int script_protocol);
// How a number is handed to a command: as "%.17g" prints it. Returns the length; no NUL is written.
std::size_t write_number(double value, char (&text)[64]);
// Sets KEYS and ARGV for the script about to run.
void set_script_arguments(lua_State* lua, Args keys, Args args);
int push_error_handler(lua_State* lua);  // its stack index
// In the registry: cjson.encode_keep_buffer as it came, which charges nobody.
inline constexpr const char* kKeepBuffer = "cjson.encode_keep_buffer";

int open_struct_library(lua_State* lua);
int open_message_pack_library(lua_State* lua);

}  // namespace holdfast::sim::embedded
