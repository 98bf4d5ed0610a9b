// Peer: one client, its locks of one kind and a witness: to Redis a process of its own.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "lib/testing/relay.h"
#include "lib/testing/stand.h"

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
  Peer(Stand& stand, LockOptions options) : Peer(stand, std::move(options), stand.redis) {}
  Peer(Stand& stand, LockOptions options, const Endpoint& server)
      : witness(stand.runtime),
        client(stand.runtime, stand.network, stand.options(server)),
        locks(client, observed_by(witness, std::move(options))) {}

  redis::Reply ask(std::initializer_list<std::string_view> command) { return testing::ask(client, command); }

  Witness witness;
  redis::Client client;
  Kind locks;
};

// A peer whose wire can be held up. The scripts must be known to the server where a test counts or loses
// requests.
template <class Kind>
struct RelayedPeer {
  RelayedPeer(Stand& stand, LockOptions options)
      : relay(stand.runtime, stand.network, stand.redis), peer(stand, std::move(options), relay.endpoint()) {}
  Relay relay;
  Peer<Kind> peer;
};

}  // namespace holdfast::testing
