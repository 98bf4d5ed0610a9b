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

enum class ExclusiveKind { reentrant, non_reentrant, fair, spin, fenced, write };

inline std::string to_string(ExclusiveKind kind) {
  switch (kind) {
    case ExclusiveKind::reentrant: return "reentrant";
    case ExclusiveKind::non_reentrant: return "non_reentrant";
    case ExclusiveKind::fair: return "fair";
    case ExclusiveKind::spin: return "spin";
    case ExclusiveKind::fenced: return "fenced";
    case ExclusiveKind::write: return "write";
  }
  return "?";
}

inline std::vector<ExclusiveKind> every_kind() {
  return {ExclusiveKind::reentrant, ExclusiveKind::non_reentrant, ExclusiveKind::fair,
          ExclusiveKind::spin,      ExclusiveKind::fenced,        ExclusiveKind::write};
}

inline std::unique_ptr<Locks> make_locks(ExclusiveKind kind, redis::Client& client, LockOptions options) {
  switch (kind) {
    case ExclusiveKind::reentrant: return std::make_unique<ReentrantLocks>(client, std::move(options));
    case ExclusiveKind::non_reentrant: return std::make_unique<NonReentrantLocks>(client, std::move(options));
    case ExclusiveKind::fair: return std::make_unique<FairLocks>(client, std::move(options));
    case ExclusiveKind::spin: return std::make_unique<SpinLocks>(client, std::move(options));
    case ExclusiveKind::fenced: return std::make_unique<FencedLocks>(client, std::move(options));
    case ExclusiveKind::write:
      return std::make_unique<ReadWriteLocks>(client, ReadWriteOptions{.lock = std::move(options)});
  }
  return nullptr;
}

// As peer.h's Peer, of a kind that is chosen when the test runs.
struct AnyPeer {
  AnyPeer(Fixture& fixture, ExclusiveKind kind, LockOptions options)
      : AnyPeer(fixture, kind, options, fixture.redis) {}
  AnyPeer(Fixture& fixture, ExclusiveKind kind, LockOptions options, const Endpoint& server)
      : observer(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options(server)),
        locks(make_locks(kind, client, observed_by(observer, std::move(options)))) {}

  redis::Reply ask(std::initializer_list<std::string_view> command) { return testing::ask(client, command); }
  std::shared_ptr<Lock> obtain(const std::string& key) { return locks->obtain(key); }

  RecordingObserver observer;
  redis::Client client;
  std::unique_ptr<Locks> locks;
};

}  // namespace holdfast::testing
