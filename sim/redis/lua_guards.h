// What stands between scripts and the parts of Lua's own library that could hurt the harness, or show a
// script what differs from run to run: addresses, compiled code, work and coroutines that no budget counts,
// patterns (lua_patterns.h).
#pragma once

struct lua_State;

namespace holdfast::sim::embedded {

class ScriptEngine;

// Replaces functions of the opened libraries. REQUIRES: base and string are open and not protected yet.
void install_guards(lua_State* lua, ScriptEngine*& engine);

// luaL_loadbuffer() that takes no compiled code, as the Lua of Redis: it is a text that does not compile.
int load_text(lua_State* lua, const char* text, unsigned long size, const char* name);

}  // namespace holdfast::sim::embedded
