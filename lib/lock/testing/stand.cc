#include "lib/lock/testing/stand.h"

#include <algorithm>
#include <mutex>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "sim/cluster/redis_process.h"
#include "sim/cluster/temporary_folder.h"

namespace holdfast::testing {

std::string to_string(Where where) { return where == Where::threads ? "threads" : "embedded"; }

std::vector<Where> everywhere() { return {Where::threads}; }

void on_stand(Where where, const std::function<void(Stand&)>& body) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  const sim::TemporaryFolder folder;
  sim::RedisProcess server(runtime, network, {.folder = folder.path()});
  server.start();
  Stand stand{where, runtime, network, server.endpoint()};
  body(stand);
}

Witness::Witness(Runtime& runtime) : runtime_(runtime), mutex_(runtime), changed_(runtime) {}

void Witness::on_event(const LockEvent& event) noexcept {
  const std::scoped_lock guard(mutex_);
  told_.push_back({event.kind, runtime_.now()});
  changed_.notify_all();
}

std::size_t Witness::count(LockEvent::Kind kind) {
  const std::scoped_lock guard(mutex_);
  return static_cast<std::size_t>(
      std::count_if(told_.begin(), told_.end(), [&](const Told& told) { return told.kind == kind; }));
}

void Witness::wait_for(LockEvent::Kind kind, std::size_t times) {
  std::unique_lock guard(mutex_);
  changed_.wait_until(guard, kNever, [&] {
    return static_cast<std::size_t>(std::count_if(
               told_.begin(), told_.end(), [&](const Told& told) { return told.kind == kind; })) >= times;
  });
}

MonotonicTime Witness::last(LockEvent::Kind kind) {
  const std::scoped_lock guard(mutex_);
  MonotonicTime at = MonotonicTime::min();
  for (const Told& told : told_) {
    if (told.kind == kind) at = told.at;
  }
  return at;
}

}  // namespace holdfast::testing
