#include "sim/redis/script_engine.h"

#include <lua5.1/lua.hpp>

#include "lib/runtime/check.h"
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/engine.h"
#include "sim/redis/lua_api.h"
#include "sim/redis/lua_guards.h"
#include "sim/redis/lua_state.h"

namespace holdfast::sim::embedded {

namespace {

char engine_key;  // its address is a registry key

// A loop without an end and with nothing in it: one instruction, of which one count is like the next. Faults
// and tests keep servers busy with it.
constexpr std::string_view kIdleLoop = "while true do end";

ScriptEngine& engine_of(lua_State* lua) {
  lua_pushlightuserdata(lua, &engine_key);
  lua_rawget(lua, LUA_REGISTRYINDEX);
  auto* const engine = static_cast<ScriptEngine*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *engine;
}

void on_count(lua_State* lua, lua_Debug*) { engine_of(lua).count(lua); }

}  // namespace

ScriptEngine::ScriptEngine(Engine& engine) : engine_(engine) {}
ScriptEngine::~ScriptEngine() { close(); }

void ScriptEngine::open() {
  if (lua_ != nullptr) return;
  state_ = take_lua_state(*this);
  lua_ = state_->get();
  heap_ = &state_->heap();
  lua_pushlightuserdata(lua_, &engine_key);
  lua_pushlightuserdata(lua_, this);
  lua_rawset(lua_, LUA_REGISTRYINDEX);
  set_hook();
}

// With a witness at each line as well.
void ScriptEngine::on_hook(lua_State* lua, lua_Debug* where) {
  ScriptEngine& engine = engine_of(lua);
  if (where->event == LUA_HOOKCOUNT) return engine.count(lua);
  if (--engine.lines_left_ == 0) lua_sethook(lua, on_count, LUA_MASKCOUNT, kInstructionsPerCount);
  engine.witness_->line(where->currentline);
}

void ScriptEngine::set_hook() {
  if (witness_ == nullptr) {
    lua_sethook(lua_, on_count, LUA_MASKCOUNT, kInstructionsPerCount);
  } else {
    lua_sethook(lua_, on_hook, LUA_MASKCOUNT | LUA_MASKLINE, kInstructionsPerCount);
  }
}

void ScriptEngine::close() {
  return_lua_state(std::move(state_));
  lua_ = nullptr;
  heap_ = nullptr;
  scripts_.clear();
}

void ScriptEngine::flush() { close(); }

void ScriptEngine::abandon() {
  if (!stack_.paused()) return;
  abandoned_ = true;
  HF_CHECK(stack_.resume(), "a script that was abandoned paused once more");
}

void ScriptEngine::count(lua_State* lua) {
  const std::uint64_t given_out = heap_->given_out();
  spent_ +=
      kInstructionsPerCount + static_cast<std::int64_t>(given_out - seen_given_out_) / kBytesPerInstruction;
  seen_given_out_ = given_out;
  if (idles_) {  // the counts up to the end of the slice at once
    while (spent_ < kInstructionsPerSlice) spent_ += kInstructionsPerCount;
  }
  if (spent_ >= kInstructionsPerSlice && !killed_ && !abandoned_) {
    const std::int64_t slices = spent_ / kInstructionsPerSlice;
    spent_ %= kInstructionsPerSlice;
    heap_->protect_reserve(false);
    engine_.pass_script_time(slices * kMsPerSlice);
    heap_->protect_reserve(true);
  }
  if (!killed_ && !abandoned_) return;
  lua_sethook(lua, on_count, LUA_MASKLINE, 0);  // at each line from here on: no pcall keeps it alive
  lua_createtable(lua, 0, 1);
  lua_pushliteral(lua, "ERR Script killed by user with SCRIPT KILL...");
  lua_setfield(lua, -2, "err");
  lua_error(lua);
}

std::string ScriptEngine::load(std::string_view body, std::string& error) {
  const bool has_shebang = body.starts_with("#!");
  const std::size_t end = has_shebang ? std::min(body.find('\n'), body.size()) : 0;
  const std::string_view code = body.substr(end);
  const std::shared_ptr<const CompiledScript> compiled = compile_once(body, code);
  std::string sha1 = compiled == nullptr ? sha1_hex(body) : compiled->sha1;
  if (knows(sha1)) return sha1;
  open();
  Script script{.idles = body == kIdleLoop};
  if (has_shebang) {  // "#!lua flags=no-writes,allow-stale": the line stays, as an empty one
    std::string_view line = body.substr(2, end - 2);
    script.shebang = true;
    const auto next_word = [&] {
      while (line.starts_with(' ')) line.remove_prefix(1);
      const std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(word.size());
      return word;
    };
    const std::string_view engine = next_word();
    if (end == body.size()) {
      error = "ERR Invalid script shebang";
      return {};
    }
    if (engine != "lua") {
      error = "ERR Unexpected engine in script shebang: #!" + std::string(engine);
      return {};
    }
    for (std::string_view word = next_word(); !word.empty(); word = next_word()) {
      if (!word.starts_with("flags=")) {
        error = "ERR Unknown lua shebang option: " + std::string(word);
        return {};
      }
      word.remove_prefix(6);
      while (!word.empty()) {
        const std::string_view flag = word.substr(0, word.find(','));
        word.remove_prefix(std::min(word.size(), flag.size() + 1));
        if (flag == "no-writes")
          script.no_writes = true;
        else if (flag == "allow-stale")
          script.allow_stale = true;
        else if (flag == "allow-oom")
          script.allow_oom = true;
        else if (flag != "no-cluster" && flag != "allow-cross-slot-keys" && !flag.empty()) {
          error = "ERR Unexpected flag in script shebang: " + std::string(flag);
          return {};
        }
      }
    }
  }
  const bool known_code = compiled != nullptr && !compiled->code.empty();
  const int status = known_code
                         ? luaL_loadbuffer(lua_, compiled->code.data(), compiled->code.size(), "@user_script")
                         : load_text(lua_, code.data(), code.size(), "@user_script");
  if (status != 0) {
    error = "ERR Error compiling script (new function): " + std::string(lua_tostring(lua_, -1));
    lua_pop(lua_, 1);
    return {};
  }
  script.function = luaL_ref(lua_, LUA_REGISTRYINDEX);
  scripts_.emplace(sha1, script);
  return sha1;
}

std::uint32_t ScriptEngine::command_flags(const CommandSpec& spec, Args argv) {
  std::string sha1;
  if (spec.name.starts_with("evalsha")) {
    sha1 = lower(argv[1]);
  } else if (argv[1].starts_with("#!")) {
    std::string error;
    sha1 = load(argv[1], error);
  }
  const auto it = scripts_.find(sha1);
  if (it == scripts_.end() || !it->second.shebang) return spec.flags;
  std::uint32_t flags = spec.flags & ~(kWrite | kDenyOom | kMayReplicate);
  if (!it->second.no_writes) flags |= kWrite;
  if (!it->second.no_writes && !it->second.allow_oom) flags |= kDenyOom;
  return flags;
}

void ScriptEngine::run(Call& call, std::string_view sha1, std::size_t key_count, bool read_only) {
  const Script script = scripts_.find(sha1)->second;
  call_ = &call;
  read_only_ = read_only || script.no_writes;
  wrote_ = killed_ = false;
  idles_ = script.idles;
  spent_ = 0;
  seen_given_out_ = heap_->given_out();
  scratch_.protocol = 2;
  if (script.shebang && !script.no_writes) {
    if (read_only) return call.out.error("ERR Can not execute a script with write flag using *_ro command.");
    const std::string_view refused = engine_.refuse_write(call.session);
    if (refused.starts_with("READONLY")) {
      return call.out.error("READONLY Can not run script with write flag on readonly replica.");
    }
    if (!refused.empty()) return call.out.error(refused);
  }
  allow_oom_ = script.allow_oom;
  if (script.shebang && !script.no_writes && !script.allow_oom && engine_.began_out_of_memory()) {
    return call.out.error(
        "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'");
  }
  std::size_t bytes = 0;
  for (const std::string_view word : call.argv) bytes += word.size();
  if (2 * bytes > LuaHeap::kReserveBytes && heap_->in_use() + 2 * bytes > LuaHeap::kMostBytes) {
    return call.out.error("ERR not enough memory");  // what Lua itself could not say outside a protected call
  }
  set_hook();
  lines_left_ = kLinesTold;
  if (witness_ != nullptr) witness_->begins(sha1);
  const std::string name(sha1);          // the words of the request are gone when a script pauses
  const int database = call.session.db;  // a SELECT of the script's is its own
  const int top = lua_gettop(lua_);
  set_script_arguments(lua_, call.argv.subspan(3, key_count), call.argv.subspan(3 + key_count));
  call.argv = {};
  const int handler = push_error_handler(lua_);
  heap_->protect_reserve(true);
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, script.function);
  const int status = lua_pcall(lua_, 0, 1, handler);
  heap_->protect_reserve(false);
  // The error of a command that the script called was counted with that call.
  if (lua_istable(lua_, -1)) {
    lua_getfield(lua_, -1, "ignore_error_stats_update");
    if (lua_toboolean(lua_, -1) != 0) engine_.error_was_counted();
    lua_pop(lua_, 1);
  }
  if (status == 0) {
    write_value(lua_, call.out, scratch_.protocol);
  } else {
    const auto field = [&](const char* name) {
      std::string text;
      if (lua_istable(lua_, -1)) {
        lua_getfield(lua_, -1, name);
        if (lua_isstring(lua_, -1)) text = lua_tostring(lua_, -1);
        lua_pop(lua_, 1);
      } else if (std::string_view(name) == "err") {
        const char* text_or_null = lua_tostring(lua_, -1);
        text = std::string("ERR ") + (text_or_null != nullptr ? text_or_null : "unknown error");
      }
      return text;
    };
    const std::string source = field("source");
    std::string message = field("err") + " script: " + name;
    if (!source.empty()) message += ", on " + source + ":" + field("line") + ".";
    call.out.error(message);
  }
  lua_settop(lua_, top);
  constexpr std::size_t kCollectFrom = 256 * 1024;
  if (heap_->in_use() > kCollectFrom) state_->collect();
  call.session.db = database;
  call_ = nullptr;
}

const std::string& ScriptEngine::call_command(Args argv, bool& refused) {
  scratch_.bytes.clear();
  refused = true;
  charge(kInstructionsPerCall);
  const auto refuse = [&](std::string_view text) -> const std::string& {
    scratch_.error(text);
    engine_.count_error(text);
    return scratch_.bytes;
  };
  if (abandoned_) return refuse("ERR The server is gone");
  const CommandSpec* container = nullptr;
  const CommandSpec* spec = CommandTable::instance().find(argv, container);
  if (spec == nullptr) return refuse("ERR Unknown Redis command called from script");
  if (!spec->arity_ok(argv.size()) || (spec->handler == nullptr && argv.size() < 2)) {
    return refuse("ERR Wrong number of args calling Redis command from script");
  }
  if ((spec->flags & kNoScript) != 0) return refuse("ERR This Redis command is not allowed from script");
  if (read_only_ && (spec->flags & (kWrite | kMayReplicate)) != 0) {
    return refuse("ERR Write commands are not allowed from read-only scripts.");
  }
  if ((spec->flags & kWrite) != 0) {
    const std::string_view why_not = engine_.refuse_write(call_->session);
    if (why_not.starts_with("NOREPLICAS")) {
      if (!wrote_) return refuse(why_not);
    } else if (!why_not.empty()) {
      return refuse(why_not);
    }
  }
  if (Cluster* const cluster = engine_.cluster(); cluster != nullptr && !call_->session.from_primary) {
    const std::string why_not =
        cluster->refuse_in_script(call_->session, *spec, argv, (spec->flags & kWrite) != 0);
    if (!why_not.empty()) return refuse(why_not);
  }
  if ((spec->flags & kDenyOom) != 0 && !allow_oom_ && !wrote_ && engine_.began_out_of_memory())
    return refuse(kOutOfMemory);
  if ((spec->flags & kWrite) != 0) wrote_ = true;
  refused = false;
  engine_.call(call_->session, *spec, argv, scratch_);
  if (scratch_.bytes.starts_with('-')) engine_.count_error(std::string_view(scratch_.bytes).substr(1));
  charge(static_cast<std::int64_t>(scratch_.bytes.size()) / kBytesPerInstruction);
  return scratch_.bytes;
}

void ScriptEngine::set_propagation(bool replicas, bool disk) { engine_.set_propagation(replicas, disk); }

// The generator of Redis (drand48's recurrence), so that math.random draws the same numbers: from the start
// of the server on, from script to script, and on from what the last math.randomseed left.
double ScriptEngine::random_fraction() {
  random_state_ = (random_state_ * 0x5DEECE66Du + 0xB) & 0xFFFFFFFFFFFFu;
  const auto draw = static_cast<std::int64_t>(random_state_ >> 17);
  constexpr std::int64_t kMax = INT32_MAX;
  return static_cast<double>(draw % kMax) / static_cast<double>(kMax);
}
void ScriptEngine::seed_random(std::int32_t seed) {
  random_state_ = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(seed)) << 16) + 0x330E;
}

// --- commands ------------------------------------------------------------------------------------------

namespace {

bool key_count_argument(Call& c, std::size_t& count) {
  std::int64_t value = 0;
  if (!integer_arg(c, 2, value)) return false;
  if (value > static_cast<std::int64_t>(c.argc()) - 3) {
    c.out.error("ERR Number of keys can't be greater than number of args");
    return false;
  }
  if (value < 0) {
    c.out.error("ERR Number of keys can't be negative");
    return false;
  }
  count = static_cast<std::size_t>(value);
  return true;
}

void eval_generic(Call& c, bool by_sha1, bool read_only) {
  c.propagate_nothing = true;  // its effects are
  ScriptEngine& scripts = c.engine.scripts();
  std::size_t keys = 0;
  if (by_sha1 && c.arg(1).size() != 40) return c.out.error("NOSCRIPT No matching script. Please use EVAL.");
  if (!key_count_argument(c, keys)) return;
  std::string sha1;
  if (by_sha1) {
    const std::string_view given = c.arg(1);
    if (scripts.knows(given)) return scripts.run(c, given, keys, read_only);
    sha1 = lower(given);
    if (!scripts.knows(sha1)) return c.out.error("NOSCRIPT No matching script. Please use EVAL.");
  } else {
    std::string error;
    sha1 = scripts.load(c.arg(1), error);
    if (sha1.empty()) return c.out.error(error);
  }
  scripts.run(c, sha1, keys, read_only);
}
void eval(Call& c) { eval_generic(c, false, false); }
void eval_ro(Call& c) { eval_generic(c, false, true); }
void evalsha(Call& c) { eval_generic(c, true, false); }
void evalsha_ro(Call& c) { eval_generic(c, true, true); }

void script_load(Call& c) {
  std::string error;
  const std::string sha1 = c.engine.scripts().load(c.arg(2), error);
  sha1.empty() ? c.out.error(error) : c.out.bulk(sha1);
}
void script_exists(Call& c) {
  c.out.array(c.argc() - 2);
  for (std::size_t i = 2; i < c.argc(); ++i) c.out.integer(c.engine.scripts().knows(lower(c.arg(i))) ? 1 : 0);
}
void script_flush(Call& c) {
  if (c.argc() > 3 || (c.argc() == 3 && !c.option(2, "SYNC") && !c.option(2, "ASYNC"))) {
    return c.out.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  c.engine.scripts().flush();
  c.out.ok();
}
void script_kill(Call& c) {
  if (!c.engine.script_paused()) return c.out.error("NOTBUSY No scripts in execution right now.");
  if (c.engine.scripts().wrote()) {
    return c.out.error(
        "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either "
        "wait "
        "the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.");
  }
  c.engine.scripts().kill();
  c.out.ok();
}
void script_debug(Call& c) { c.out.ok(); }

}  // namespace

void add_script_commands(Specs& specs) {
  constexpr std::uint32_t kS = kNoScript;
  constexpr std::uint32_t kRun = kNoScript | kRunsScripts;
  specs.insert(specs.end(), {
                                {"eval", eval, -3, kRun | kMayReplicate},
                                {"eval_ro", eval_ro, -3, kRun | kReadonly},
                                {"evalsha", evalsha, -3, kRun | kMayReplicate},
                                {"evalsha_ro", evalsha_ro, -3, kRun | kReadonly},
                                {"script", nullptr, -2, kS | kContainer},
                                {"script|load", script_load, 3, kRun},
                                {"script|exists", script_exists, -3, kS},
                                {"script|flush", script_flush, -2, kS},
                                {"script|kill", script_kill, 2, kS | kAllowBusy},
                                {"script|debug", script_debug, 3, kS},
                            });
}

}  // namespace holdfast::sim::embedded
