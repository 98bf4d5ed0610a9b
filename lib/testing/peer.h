// Peer: one client, its locks of one kind and an observer that records: to Redis a process of its own.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "lib/lock/api/lock.h"
#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast::testing {

inline redis::Reply ask(redis::Client& client, std::initializer_list<std::string_view> command) {
  return client.call(command).reply;
}

inline LockOptions observed_by(LockObserver& observer, LockOptions options) {
  options.observer = &observer;
  return options;
}

template <class Kind>
struct Peer {
  Peer(Fixture& fixture, LockOptions options) : Peer(fixture, std::move(options), fixture.redis) {}
  Peer(Fixture& fixture, LockOptions options, const Endpoint& server)
      : observer(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options(server)),
        locks(client, observed_by(observer, std::move(options))) {}

  redis::Reply ask(std::initializer_list<std::string_view> command) { return testing::ask(client, command); }

  RecordingObserver observer;
  redis::Client client;
  Kind locks;
};

// A peer whose wire can be held up. The scripts must be known to the server where a test counts or loses
// requests.
template <class Kind>
struct RelayedPeer {
  RelayedPeer(Fixture& fixture, LockOptions options)
      : link(fixture.runtime, fixture.network, fixture.redis),
        peer(fixture, std::move(options), link.endpoint()) {}
  FaultyLink link;
  Peer<Kind> peer;
};

}  // namespace holdfast::testing
