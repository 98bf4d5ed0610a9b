// Scene: what the tests of the kinds of locks share: signs between tasks, and clients with their locks behind
// a faulty link.
#pragma once

#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"
#include "lib/testing/peer.h"

namespace holdfast::testing {

// Something that tasks of one process tell each other, so many times.
class Sign {
 public:
  explicit Sign(Runtime& runtime) : mutex_(runtime), changed_(runtime) {}
  void give(int times = 1) {
    const std::scoped_lock guard(mutex_);
    given_ += times;
    changed_.notify_all();
  }
  void wait(int times = 1) {  // [parks]
    std::unique_lock guard(mutex_);
    changed_.wait_until(guard, kNever, [&] { return given_ >= times; });
  }
  int given() {
    const std::scoped_lock guard(mutex_);
    return given_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int given_ = 0;
};

// One client and its locks, to Redis a process of its own. `LocksOf` is made of the client and of `Options`,
// whose LockOptions gets the observer.
template <class LocksOf, class Options>
struct PeerOf {
  PeerOf(Fixture& fixture, Options options)
      : link(fixture.runtime, fixture.network, fixture.redis),
        observer(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        locks(client, with_observer(std::move(options))) {
    client.call({"PING"});
  }
  Options with_observer(Options options) {
    options.lock.observer = &observer;
    return options;
  }
  auto obtain(const std::string& key = "k") { return locks.obtain(key); }

  FaultyLink link;
  RecordingObserver observer;
  redis::Client client;
  LocksOf locks;
};

// What the server's clock shows, in ms, as the scripts count.
inline std::int64_t server_ms(redis::Client& client) {
  const redis::Reply time = ask(client, {"TIME"});
  return std::stoll(time.items.at(0).text) * 1000 + std::stoll(time.items.at(1).text) / 1000;
}

// The scripts are known to the server, so that each call of one is one EVALSHA with its sha1.
inline void load(redis::Client& client, std::initializer_list<const redis::Script*> scripts) {
  for (const redis::Script* script : scripts) client.call({"SCRIPT", "LOAD", script->text});
}

// A fixture, and a client that goes past its faulty links to a server that knows `scripts`.
inline void with_scripts(const Where& where, std::initializer_list<const redis::Script*> scripts,
                         const std::function<void(Fixture&, redis::Client&)>& body) {
  with_fixture(where, [&](Fixture& fixture) {
    redis::Client straight(fixture.runtime, fixture.network, fixture.options());
    load(straight, scripts);
    body(fixture, straight);
  });
}

}  // namespace holdfast::testing
