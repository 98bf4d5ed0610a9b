// The exclusive kinds on one Redis, for tests that hold for each of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/peer.h"

namespace holdfast::testing {

enum class LockKind { reentrant, non_reentrant, fair, spin, fenced, write };

inline std::string to_string(LockKind kind) {
  switch (kind) {
    case LockKind::reentrant: return "reentrant";
    case LockKind::non_reentrant: return "non_reentrant";
    case LockKind::fair: return "fair";
    case LockKind::spin: return "spin";
    case LockKind::fenced: return "fenced";
    case LockKind::write: return "write";
  }
  return "?";
}

inline std::vector<LockKind> every_kind() {
  return {LockKind::reentrant, LockKind::non_reentrant, LockKind::fair,
          LockKind::spin,      LockKind::fenced,        LockKind::write};
}

inline std::unique_ptr<Locks> make_locks(LockKind kind, redis::Client& client, LockOptions options) {
  switch (kind) {
    case LockKind::reentrant: return std::make_unique<ReentrantLocks>(client, std::move(options));
    case LockKind::non_reentrant: return std::make_unique<NonReentrantLocks>(client, std::move(options));
    case LockKind::fair: return std::make_unique<FairLocks>(client, std::move(options));
    case LockKind::spin: return std::make_unique<SpinLocks>(client, std::move(options));
    case LockKind::fenced: return std::make_unique<FencedLocks>(client, std::move(options));
    case LockKind::write:
      return std::make_unique<ReadWriteLocks>(client, ReadWriteOptions{.lock = std::move(options)});
  }
  return nullptr;
}

// As peer.h's Peer, of a kind that is chosen when the test runs.
struct AnyPeer {
  AnyPeer(Stand& stand, LockKind kind, LockOptions options) : AnyPeer(stand, kind, options, stand.redis) {}
  AnyPeer(Stand& stand, LockKind kind, LockOptions options, const Endpoint& server)
      : witness(stand.runtime),
        client(stand.runtime, stand.network, stand.options(server)),
        locks(make_locks(kind, client, observed_by(witness, std::move(options)))) {}

  redis::Reply ask(std::initializer_list<std::string_view> command) { return testing::ask(client, command); }
  std::shared_ptr<Lock> obtain(const std::string& key) { return locks->obtain(key); }

  Witness witness;
  redis::Client client;
  std::unique_ptr<Locks> locks;
};

}  // namespace holdfast::testing
