// ScriptEngine: EVAL and related commands on PUC Lua 5.1, with what Redis 7.0 adds and forbids: conversions,
// error texts, protected globals, cjson and bit.
//
// Scripts are compiled once and kept by SHA-1. Effects of what a script did before an error stay.
//
// All of this runs on a stack of its own (script_stack.h). Most scripts run to their end at once and take no
// time. A long one takes kMsPerSlice for each kInstructionsPerSlice: of the VM, which a hook counts by
// kInstructionsPerCount, plus kInstructionsPerCall for each redis.call, one for each kBytesPerInstruction of
// memory or reply, and a count for each new coroutine. (That is a hundred million instructions a second;
// redis-server 7.0.15 does some two hundred on a machine of 2023.) Then the script stands still until
// Engine::continue_script(), so that the time of the world goes on (engine_scripts.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/redis/command.h"
#include "sim/redis/script_cache.h"
#include "sim/redis/script_stack.h"
#include "sim/redis/script_witness.h"

struct lua_Debug;
struct lua_State;

namespace holdfast::sim::embedded {

inline constexpr int kInstructionsPerCount = 1000;
inline constexpr std::int64_t kInstructionsPerSlice = 100'000, kInstructionsPerCall = 100;
inline constexpr std::int64_t kBytesPerInstruction = 16, kMsPerSlice = 1;

class LuaHeap;
class LuaState;

class ScriptEngine {
 public:
  explicit ScriptEngine(Engine& engine);
  ~ScriptEngine();
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  bool knows(std::string_view sha1) const { return scripts_.contains(sha1); }
  std::size_t cached() const { return scripts_.size(); }
  // Compiles and keeps; "" and `error` set when it does not compile.
  std::string load(std::string_view body, std::string& error);
  // The flags of EVAL and its like with these arguments: a script that declares flags (#!lua) replaces some.
  std::uint32_t command_flags(const CommandSpec& spec, Args argv);
  void flush();
  std::size_t size() const { return scripts_.size(); }
  // Runs a known script; REQUIRES: knows(sha1). argv as of EVALSHA: argv[2] = number of keys.
  void run(Call& call, std::string_view sha1, std::size_t key_count, bool read_only);

  ScriptStack& stack() { return stack_; }
  bool wrote() const { return wrote_; }
  // The script that is paused ends by an error when it goes on, whatever it catches (SCRIPT KILL).
  void kill() { killed_ = true; }
  // The script that is paused, if any, ends now and calls no command any more.
  void abandon();
  // Told from the next script on; nullptr: nobody. It outlives this.
  void set_witness(ScriptWitness* witness) { witness_ = witness; }

  // --- for the functions that scripts call ---
  void charge(std::int64_t instructions) { spent_ += instructions; }
  // kInstructionsPerCount were executed; time may pass meanwhile. Raises an error of Lua when it was killed.
  void count(lua_State* lua);
  // One redis.call: the reply goes to reply_bytes(). False: refused, the text is in it as an error reply.
  const std::string& call_command(Args argv, bool& refused);
  Call* running() { return call_; }
  void set_propagation(bool replicas, bool disk);
  void set_protocol(int version) { scratch_.protocol = version; }  // of replies to redis.call
  double random_fraction();
  void seed_random(std::int32_t seed);

 private:
  struct Script {
    int function = 0;  // registry reference
    bool shebang = false;
    bool no_writes = false;
    bool allow_stale = false;
    bool allow_oom = false;
    bool idles = false;  // an endless loop around nothing: its counts need not be executed
  };
  void open();
  void close();
  void set_hook();
  static void on_hook(lua_State* lua, lua_Debug* where);

  Engine& engine_;
  ScriptWitness* witness_ = nullptr;
  int lines_left_ = 0;               // that it is told of the script that runs
  std::unique_ptr<LuaState> state_;  // null: no script yet
  LuaHeap* heap_ = nullptr;          // of state_,
  lua_State* lua_ = nullptr;         // and its own
  StringMap<Script> scripts_;
  Call* call_ = nullptr;
  bool read_only_ = false;
  bool wrote_ = false, killed_ = false, abandoned_ = false, idles_ = false;
  std::int64_t spent_ = 0;  // instructions for which no time has passed yet
  std::uint64_t seen_given_out_ = 0;
  bool allow_oom_ = false;
  Out scratch_;
  std::uint64_t random_state_ = 0x1234'ABCD'330E;  // where that of redis-server begins (rand.c)
  ScriptStack stack_;
};

}  // namespace holdfast::sim::embedded
