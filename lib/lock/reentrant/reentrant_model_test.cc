// Drawn sequences on two processes that share one lock, next to a model of what must come out: acquire,
// release, re-entry, lost replies, a record that vanishes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <optional>
#include <vector>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/draw.h"
#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;

enum class Step { acquire, release, lose_acquire_reply, lose_release_reply, vanish };
struct Action {
  Step step;
  std::size_t peer;
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Action& action) {
  constexpr std::array names = {"acquire", "release", "lose-acquire-reply", "lose-release-reply", "vanish"};
  return out << names[static_cast<std::size_t>(action.step)] << action.peer;
}

rc::Gen<Action> any_action() {
  return rc::gen::construct<Action>(rc::gen::weightedElement<Step>({{8, Step::acquire},
                                                                    {8, Step::release},
                                                                    {1, Step::lose_acquire_reply},
                                                                    {1, Step::lose_release_reply},
                                                                    {1, Step::vanish}}),
                                    testing::below<std::size_t>(2));
}

struct Peer {
  Peer(Fixture& fixture, const std::string& key)
      : link(fixture.runtime, fixture.network, fixture.redis),
        client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        locks(client, {.lease = 60s}),
        lock(locks.obtain(key)) {}
  testing::FaultyLink link;
  redis::Client client;
  ReentrantLocks locks;
  std::shared_ptr<Lock> lock;
  // The model's view.
  int depth = 0;
  std::optional<Step> losing;
};

enum class Result { ok, not_owner, lost };
Result unlock(Lock& lock) {
  try {
    lock.release();
    return Result::ok;
  } catch (const NotOwner&) {
    return Result::not_owner;
  } catch (const LockLost&) {
    return Result::lost;
  }
}

class Game {
 public:
  Game(Fixture& fixture, const std::string& key)
      : key_(key), server_(fixture.runtime, fixture.network, fixture.options()) {
    for (auto& peer : peers_) peer.emplace(fixture, key);
  }
  ~Game() {
    for (auto& peer : peers_) {
      while (peer->lock->hold_count() > 0) unlock(*peer->lock);
    }
  }

  void play(const Action& action) {
    Peer& peer = *peers_[action.peer];
    switch (action.step) {
      case Step::acquire: acquire(peer, action.peer); break;
      case Step::release: release(peer, action.peer); break;
      case Step::lose_acquire_reply:
        peer.link.lose_reply_to("$3\r\nSET\r\n");
        peer.losing = Step::acquire;
        break;
      case Step::lose_release_reply:
        peer.link.lose_reply_to(std::string(kReentrantRelease.sha1));
        peer.losing = Step::release;
        break;
      case Step::vanish:
        server_.call({"DEL", key_});
        record_.reset();
        break;
    }
    RC_ASSERT(peer.lock->hold_count() == peer.depth);
    const redis::Reply record = server_.call({"GET", key_}).reply;
    RC_ASSERT(record.is_nil() == !record_.has_value());
    if (record_) RC_ASSERT(record.text == peers_[*record_]->lock->acquisition());
  }

 private:
  void acquire(Peer& peer, std::size_t number) {
    const bool granted = peer.lock->try_lock();
    if (peer.depth > 0) {  // re-entry: the server is not asked
      RC_ASSERT(granted);
      ++peer.depth;
      return;
    }
    RC_ASSERT(granted == !record_);
    if (peer.losing == Step::acquire) peer.losing.reset();
    if (!granted) return;
    record_ = number;
    peer.depth = 1;
  }

  void release(Peer& peer, std::size_t number) {
    const Result result = unlock(*peer.lock);
    if (peer.depth == 0) {
      RC_ASSERT(result == Result::not_owner);
      return;
    }
    if (--peer.depth > 0) {
      RC_ASSERT(result == Result::ok);
      return;
    }
    const bool reply_lost = peer.losing == Step::release;
    peer.losing = reply_lost ? std::nullopt : peer.losing;
    if (record_ == number) {
      RC_ASSERT(result == Result::ok);
      record_.reset();
    } else if (!reply_lost) {  // when it was lost, "not there" is what a release of ours looks like, too
      RC_ASSERT(result == Result::lost);
    }
  }

  const std::string key_;
  redis::Client server_;
  std::array<std::optional<Peer>, 2> peers_;
  std::optional<std::size_t> record_;  // whose record is on the server
};

TEST(ReentrantModelTest, DrawnSequences) {
  testing::with_fixture(testing::Where::threads, [](Fixture& fixture) {
    redis::Client server(fixture.runtime, fixture.network, fixture.options());
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease}) {
      server.call({"SCRIPT", "LOAD", script->text});
    }
    int game = 0;
    EXPECT_TRUE(rc::check([&] {
      const auto actions = *rc::gen::container<std::vector<Action>>(any_action());
      Game play(fixture, "k" + std::to_string(game++));
      for (const Action& action : actions) play.play(action);
    }));
  });
}

}  // namespace
}  // namespace holdfast
