// An engine without sockets for tests: a clock that stands still until it is moved, sessions by number.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/runtime/check.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

// Clocks and random numbers only; everything that parks fails.
class StillRuntime final : public Runtime {
 public:
  MonotonicTime now() const noexcept override { return now_; }
  WallTime wall_now() const noexcept override { return wall_; }
  void advance(Duration by) {
    now_ += by;
    wall_ += by;
  }
  void step_wall(Duration by) { wall_ += by; }

  Task spawn(std::string_view, std::function<void()>) override { return refuse(), Task(); }
  TaskId task_id() const noexcept override { return 1; }
  Parker& parker() noexcept override {
    internal::check_failed(__FILE__, __LINE__, "parker()", "no tasks here");
  }
  std::any& task_local_slot(const void*) override { return slot_; }
  void sleep_until(MonotonicTime) override { refuse(); }
  void yield() override { refuse(); }
  std::uint64_t random() override { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }
  bool wait_fd(int, FdInterest, MonotonicTime) override { return refuse(), false; }
  std::unique_ptr<MutexImpl> make_mutex() override { return refuse(), nullptr; }
  std::unique_ptr<ConditionImpl> make_condition() override { return refuse(), nullptr; }

 private:
  static void refuse() { HF_CHECK(false, "this runtime only tells the time"); }
  MonotonicTime now_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::seconds(1'750'000'000)};
  std::any slot_;
  std::uint64_t state_ = 1;
};

class LocalServer {
 public:
  explicit LocalServer(PersistenceMode mode = PersistenceMode::none, Disk* disk = nullptr)
      : engine(runtime, mode, disk, 6379) {
    engine.on_script_paused = [] {};  // pass() goes on with it
  }

  // The bytes that session `number` gets for a line in redis-cli's quoting; "" while it is blocked.
  std::string ask(std::string_view line, int number = 1) {
    Session& s = session(number);
    s.in += line;
    s.in += "\r\n";
    engine.process(s);
    return take(number);
  }
  // The same for exact arguments.
  std::string call(std::initializer_list<std::string_view> words, int number = 1) {
    Session& s = session(number);
    append_request(s.in, {words.begin(), words.size()});
    engine.process(s);
    return take(number);
  }
  std::string take(int number = 1) {
    std::string bytes;
    bytes.swap(session(number).out.bytes);
    return bytes;
  }
  // Time passes, with the server's ticks.
  void pass(Duration time) {
    constexpr auto kTick = std::chrono::milliseconds(Engine::kTickMs);
    for (; engine.script_paused() && time > Duration::zero(); time -= std::chrono::milliseconds(1)) {
      runtime.advance(std::chrono::milliseconds(1));
      engine.continue_script();
    }
    for (; time > Duration::zero(); time -= kTick) {
      runtime.advance(std::min<Duration>(time, kTick));
      engine.tick();
    }
  }
  Session& session(int number) {
    auto& held = sessions_[number];
    if (held == nullptr)
      held = engine.open_session(nullptr, "10.0.0." + std::to_string(number) + ":1", "10.0.0.9:6379");
    return *held;
  }

  StillRuntime runtime;
  Engine engine;

 private:
  std::map<int, std::shared_ptr<Session>> sessions_;
};

}  // namespace holdfast::sim::embedded
