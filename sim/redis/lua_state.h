// LuaState: a state of Lua with all that scripts of Redis see. To make one takes some thousand small steps,
// as long as a short run of a scenario takes altogether; so they are kept, and whoever takes one finds it
// byte by byte as it was when it was made, whatever ran in it meanwhile.
//
// It serves one ScriptEngine at a time. Not thread-safe; take_lua_state() and return_lua_state() are.
#pragma once

#include <memory>

#include "sim/redis/lua_heap.h"

struct lua_State;

namespace holdfast::sim::embedded {

class ScriptEngine;

class LuaState {
 public:
  LuaState();  // throws std::bad_alloc
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  lua_State* get() const { return lua_; }
  LuaHeap& heap() { return heap_; }
  // Whom the functions in it ask from now on.
  void serve(ScriptEngine& engine);
  // REQUIRES: no function of Lua runs in it.
  void restore();
  // Throws away what no script needs any more. The next time Lua itself begins with that only when there is
  // several times as much as now, as short runs never have it.
  void collect();

 private:
  void keep_buffer_of_json(bool on);

  LuaHeap heap_;
  lua_State* lua_ = nullptr;
  ScriptEngine* engine_ = nullptr;
};

// As new. Throws std::bad_alloc.
std::unique_ptr<LuaState> take_lua_state(ScriptEngine& engine);
void return_lua_state(std::unique_ptr<LuaState> state);

}  // namespace holdfast::sim::embedded
