// ScriptEngine: EVAL and related commands on PUC Lua 5.1, with what Redis 7.0 adds and forbids: conversions,
// error texts, protected globals, cjson and bit.
//
// Scripts are compiled once and kept by SHA-1. A script runs to its end without parking; effects of what it
// did before an error stay.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/redis/command.h"

struct lua_State;

namespace holdfast::sim::embedded {

std::string sha1_hex(std::string_view bytes);

class LuaHeap;

class ScriptEngine {
 public:
  explicit ScriptEngine(Engine& engine);
  ~ScriptEngine();
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  bool knows(std::string_view sha1) const { return scripts_.contains(sha1); }
  // Compiles and keeps; "" and `error` set when it does not compile.
  std::string load(std::string_view body, std::string& error);
  // The flags of EVAL and its like with these arguments: a script that declares flags (#!lua) replaces some.
  std::uint32_t command_flags(const CommandSpec& spec, Args argv);
  void flush();
  std::size_t size() const { return scripts_.size(); }
  // Runs a known script; REQUIRES: knows(sha1). argv as of EVALSHA: argv[2] = number of keys.
  void run(Call& call, std::string_view sha1, std::size_t key_count, bool read_only);

  // --- for the functions that scripts call ---
  // One redis.call: the reply goes to reply_bytes(). False: refused, the text is in it as an error reply.
  const std::string& call_command(Args argv, bool& refused);
  Call* running() { return call_; }
  void set_propagation(bool replicas, bool disk);
  void set_protocol(int version) { scratch_.protocol = version; }  // of replies to redis.call
  double random_fraction();
  void seed_random(std::int32_t seed);

 private:
  struct Script {
    int function;  // registry reference
    bool shebang;
    bool no_writes;
    bool allow_stale;
    bool allow_oom;
  };
  void open();
  void close();

  Engine& engine_;
  std::unique_ptr<LuaHeap> heap_;
  lua_State* lua_ = nullptr;
  StringMap<Script> scripts_;
  Call* call_ = nullptr;
  bool read_only_ = false;
  bool wrote_ = false;
  bool allow_oom_ = false;
  Out scratch_;
  std::uint64_t random_state_ = 0;
};

}  // namespace holdfast::sim::embedded
