#include "sim/redis/lua_state.h"

#include <lua5.1/lua.hpp>
#include <utility>
#include <vector>

#include "lib/runtime/check.h"
#include "sim/redis/lua_api.h"
#include "sim/world/process_wide.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::size_t kMostKept = 64;

struct Kept {
  Kept() { states.reserve(kMostKept); }
  std::vector<std::unique_ptr<LuaState>> states;
};

ProcessWide<Kept>& kept() {
  static auto* const all = new ProcessWide<Kept>;
  return *all;
}

}  // namespace

LuaState::LuaState() : lua_(lua_newstate(&LuaHeap::allocate, &heap_)) {
  HF_CHECK(lua_ != nullptr, "no memory for a Lua state");
  install_redis_api(lua_, engine_);
  keep_buffer_of_json(false);
  collect();
  heap_.keep_image();
}

LuaState::~LuaState() {
  keep_buffer_of_json(false);
  lua_close(lua_);
}

void LuaState::serve(ScriptEngine& engine) {
  engine_ = &engine;
  keep_buffer_of_json(true);
}

void LuaState::restore() {
  keep_buffer_of_json(false);
  heap_.restore_image();
  engine_ = nullptr;
}

void LuaState::collect() {
  constexpr int kUsual = 200, kRare = 600;  // in per cent of what is left (LUAI_GCPAUSE)
  lua_gc(lua_, LUA_GCSETPAUSE, kRare);
  lua_gc(lua_, LUA_GCCOLLECT, 0);
  lua_gc(lua_, LUA_GCSETPAUSE, kUsual);
}

// The one thing in a state that is not in its heap: a buffer of cjson, which has one while it is told to keep
// it from call to call. (lua-cjson 2.1, lua_cjson.c, json_cfg_encode_keep_buffer.)
void LuaState::keep_buffer_of_json(bool on) {
  lua_settop(lua_, 0);
  lua_getfield(lua_, LUA_REGISTRYINDEX, kKeepBuffer);
  lua_pushboolean(lua_, on ? 1 : 0);
  HF_CHECK(lua_pcall(lua_, 1, 0, 0) == 0, "cjson does not take its own setting");
}

std::unique_ptr<LuaState> take_lua_state(ScriptEngine& engine) {
  std::unique_ptr<LuaState> state = kept().with([](Kept& all) {
    std::unique_ptr<LuaState> last;
    if (all.states.empty()) return last;
    last = std::move(all.states.back());
    all.states.pop_back();
    return last;
  });
  if (state == nullptr) state = std::make_unique<LuaState>();
  state->serve(engine);
  return state;
}

void return_lua_state(std::unique_ptr<LuaState> state) {
  if (state == nullptr) return;
  state->restore();
  kept().with([&](Kept& all) {
    if (all.states.size() < kMostKept) all.states.push_back(std::move(state));
  });
}

}  // namespace holdfast::sim::embedded
