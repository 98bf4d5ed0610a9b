#include "lib/testing/stand.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/redis_process.h"
#include "sim/cluster/temporary_folder.h"
#include "sim/proxy/proxy.h"
#include "sim/world/world.h"

namespace holdfast::testing {

namespace {

void with_real_redis(Where where, Runtime& runtime, Network& network, sim::World* world,
                     const std::function<void(Stand&)>& body) {
  const sim::TemporaryFolder folder;
  sim::RedisProcess server(runtime, network, {.folder = folder.path()});
  server.start();
  Stand stand{where, runtime, network, server.endpoint(), world};
  body(stand);
}

}  // namespace

std::string to_string(Where where) {
  switch (where) {
    case Where::threads: return "threads";
    case Where::event_loop: return "event_loop";
    case Where::embedded: return "embedded";
  }
  return "?";
}

std::vector<Where> everywhere() { return {Where::threads, Where::event_loop, Where::embedded}; }

void with_attempts(Where where, const std::function<void(int attempt)>& body) {
  for (int attempt = 0;; ++attempt) {
    try {
      return body(attempt);
    } catch (const LostWhileWaiting&) {
      if (where == Where::embedded || attempt == 4) throw;
    }
  }
}

void on_stand(Where where, const std::function<void(Stand&)>& body) {
  if (where != Where::embedded) {
    with_attempts(where, [&](int attempt) {
      const auto attempted = [&](Stand& stand) {
        stand.attempt = attempt;
        body(stand);
      };
      if (where == Where::threads) {
        ThreadRuntime runtime;
        SocketNetwork network(runtime);
        with_real_redis(where, runtime, network, nullptr, attempted);
        return;
      }
      const auto world = sim::make_real_world({});
      world->run([&] {
        with_real_redis(where, world->harness().runtime(), world->harness().network(), world.get(),
                        attempted);
      });
    });
    return;
  }
  const auto world = sim::make_embedded_world({});
  std::unique_ptr<sim::Proxy> proxy;  // both outlive the world's tasks
  std::unique_ptr<sim::Cluster> cluster;
  world->run([&] {
    proxy = std::make_unique<sim::Proxy>(*world);
    cluster = sim::make_embedded_cluster(*world, *proxy, {});
    cluster->start();
    Stand stand{where, world->harness().runtime(), world->harness().network(),
                cluster->nodes().front()->endpoint(), world.get()};
    body(stand);
  });
}

Witness::Witness(Runtime& runtime) : runtime_(runtime), mutex_(runtime), changed_(runtime) {}

void Witness::on_event(const LockEvent& event) noexcept {
  {
    const std::scoped_lock guard(mutex_);
    told_.push_back({event.kind, runtime_.now()});
    changed_.notify_all();
  }
  if (hook_ && event.kind == hooked_) hook_();
}

void Witness::on_kind(LockEvent::Kind kind, std::function<void()> hook) {
  hooked_ = kind;
  hook_ = std::move(hook);
}

void Witness::wait_from_outside(LockEvent::Kind kind, Runtime& waiter) {
  while (count(kind) == 0) waiter.sleep_for(std::chrono::milliseconds(1));
}

std::size_t Witness::count(LockEvent::Kind kind) {
  const std::scoped_lock guard(mutex_);
  return static_cast<std::size_t>(
      std::count_if(told_.begin(), told_.end(), [&](const Told& told) { return told.kind == kind; }));
}

void Witness::wait_for(LockEvent::Kind kind, std::size_t times) {
  std::unique_lock guard(mutex_);
  const auto is = [](LockEvent::Kind wanted) {
    return [wanted](const Told& told) { return told.kind == wanted; };
  };
  const auto enough = [&] {
    return static_cast<std::size_t>(std::count_if(told_.begin(), told_.end(), is(kind))) >= times;
  };
  const auto hopeless = [&] {
    if (kind != LockEvent::Kind::renewed) return false;
    const auto acquired = std::find_if(told_.rbegin(), told_.rend(), is(LockEvent::Kind::acquired));
    return std::find_if(told_.rbegin(), acquired, is(LockEvent::Kind::lost)) != acquired;
  };
  changed_.wait_until(guard, kNever, [&] { return enough() || hopeless(); });
  if (!enough()) throw LostWhileWaiting();
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
