#include "lib/testing/fair_queue.h"

#include <mutex>

#include "lib/lock/engine/key_names.h"
#include "lib/lock/engine/lock_context.h"
#include "lib/lock/reentrant/reentrant_scripts.h"

namespace holdfast::testing {
namespace {

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

FairQueue::FairQueue(Fixture& fixture, std::string key)
    : fixture_(fixture),
      key_(std::move(key)),
      client_(fixture.runtime, fixture.network, fixture.options()),
      mutex_(fixture.runtime) {}

void FairQueue::join(std::shared_ptr<Lock> lock, int length) {
  const int number = joined_++;
  tasks_.push_back(fixture_.runtime.spawn("client", [this, lock = std::move(lock), number] {
    lock->lock();
    {
      const std::scoped_lock guard(mutex_);
      order_.push_back(number);
    }
    lock->unlock();
  }));
  wait_length(length == 0 ? joined_ : length);
}

void FairQueue::wait_length(int length) {
  const std::string queue = beside_key("holdfast:fair:queue", key_);
  while (client_.call({"ZCARD", queue}).reply.integer != length) {
    fixture_.runtime.sleep_for(std::chrono::milliseconds(1));
  }
}

void FairQueue::wait_all_granted() { tasks_.clear(); }

int FairQueue::granted() {
  const std::scoped_lock guard(mutex_);
  return static_cast<int>(order_.size());
}

std::vector<int> FairQueue::order() {
  const std::scoped_lock guard(mutex_);
  return order_;
}

void FairQueue::add_ghost(Fixture& fixture, const std::string& key, std::string_view owner, Duration lease) {
  // The record is hidden from it, so that it is refused also when the lock is free.
  redis::Client client(fixture.runtime, fixture.network, fixture.options());
  const Wire wire = fair_wire(key, {});
  const bool free = client.call({"EXISTS", key}).reply.integer == 0;
  if (free) client.call({"SET", key, "somebody", "PX", "60000"});
  const std::string lease_ms = milliseconds_text(lease);
  const std::vector<std::string_view> args{owner, lease_ms, "1", "1"};
  client.eval(kReentrantAcquire, views(wire.acquire_keys), args);
  if (free) client.call({"DEL", key});
}

void FairQueue::take_leave(Fixture& fixture, const std::string& key, std::string_view owner) {
  redis::Client client(fixture.runtime, fixture.network, fixture.options());
  const Wire wire = fair_wire(key, {});
  const std::vector<std::string_view> args{owner};
  client.eval(kReentrantRelease, views(wire.release_keys), args);
}

}  // namespace holdfast::testing
