// string.find, match, gmatch and gsub with a matcher of our own: Lua's counts nothing, and a pattern can keep
// it for longer than anybody waits (`a?` thirty times, then `a` as often, and no match), or overrun the
// stack. What patterns mean is in the Lua 5.1 reference manual, section 5.4.1; the complaints are Lua's, too.
//
// A step of the matcher counts as one instruction, so that such a script takes time, can be killed, and ends
// with its world. Descents are bounded: "pattern too complex".
#pragma once

struct lua_State;

namespace holdfast::sim::embedded {

class ScriptEngine;

// Replaces the four in the table on top.
void install_patterns(lua_State* lua, ScriptEngine*& engine);

}  // namespace holdfast::sim::embedded
