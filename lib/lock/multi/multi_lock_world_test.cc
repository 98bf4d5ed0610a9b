// A multi-lock in a process that is killed while it gives back what it took.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/multi/multi_lock.h"
#include "sim/world/world.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// What a member does; the rest of a lock is asked by nobody here.
class Member : public Lock {
 public:
  Member(Runtime& runtime, std::string key) : runtime_(runtime), key_(std::move(key)) {}
  void lock() override {}
  bool try_lock() override { return true; }
  bool try_lock_until(MonotonicTime, std::stop_token) override { return true; }
  void release() override {}
  bool is_held_by_me() const override { return true; }
  int hold_count() const override { return 1; }
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override { return ""; }
  std::stop_token lost() const override { return {}; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return runtime_; }

 private:
  Runtime& runtime_;
  const std::string key_;
};

// As a lock whose server refuses the release: asked again until it is taken.
struct NeverGivenBack final : Member {
  using Member::Member;
  void release_by(MonotonicTime) override {
    began = true;
    for (;;) runtime().sleep_for(10ms);
  }
  bool began = false;
};

struct NeverTaken final : Member {
  using Member::Member;
  bool try_lock_by(MonotonicTime) override { throw Unavailable("no answer", key(), "", false); }
};

TEST(MultiLockInAWorld, GivingBackEndsWithTheProcess) {
  const auto world = sim::make_embedded_world({.seed = 1});
  bool began = false, ended = false;
  world->run([&] {
    sim::Process& process = world->add_process("c1");
    process.start("client", [&] {
      const auto first = std::make_shared<NeverGivenBack>(process.runtime(), "a");
      MultiLock lock({first, std::make_shared<NeverTaken>(process.runtime(), "b")});
      try {
        lock.lock();
      } catch (const TaskCancelled&) {
        began = first->began;
        ended = true;
        throw;
      }
    });
    world->harness().runtime().sleep_for(1s);
    process.crash();
  });
  EXPECT_TRUE(began);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace holdfast
