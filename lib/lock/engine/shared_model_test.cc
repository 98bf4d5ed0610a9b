// Drawn sequences on three processes that share one read-write lock, or one semaphore, next to a model of
// what must come out: acquire, release, re-entry, downgrade, resizing, lost replies, records that vanish,
// time that passes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/draw.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Where;

enum class Step { write, read, unwrite, unread, downgrade, lose, vanish, take, give, resize, wait };
struct Action {
  Step step;
  std::size_t peer;
  int number;
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Action& action) {
  constexpr std::array names = {"write",  "read", "unwrite", "unread", "downgrade", "lose",
                                "vanish", "take", "give",    "resize", "wait"};
  return out << names[static_cast<std::size_t>(action.step)] << "(peer " << action.peer << ", "
             << action.number << ")";
}

using Weights = std::initializer_list<std::pair<std::size_t, Step>>;
rc::Gen<std::vector<Action>> actions(Weights weights) {
  return rc::gen::container<std::vector<Action>>(rc::gen::construct<Action>(
      rc::gen::weightedElement<Step>(weights), testing::below<std::size_t>(3), testing::below(6)));
}

struct TooLate {};  // thrown by a game on real time whose outcome means nothing

enum class Result { ok, no, not_owner, lost, deadlock, rejected };
Result result_of(const std::function<bool()>& act) {
  try {
    return act() ? Result::ok : Result::no;
  } catch (const NotOwner&) {
    return Result::not_owner;
  } catch (const LockLost&) {
    return Result::lost;
  } catch (const WouldDeadlock&) {
    return Result::deadlock;
  } catch (const Rejected&) {
    return Result::rejected;
  }
}
Result result_of_void(const std::function<void()>& act) {
  return result_of([&] { return act(), true; });
}

// --- read-write ----------------------------------------------------------------------------------------
class ReadWriteGame {
 public:
  ReadWriteGame(Fixture& fixture, const std::string& key, bool fair)
      : key_(key),
        readers_key_("holdfast:rw:readers:{" + key + "}"),
        server_(fixture.runtime, fixture.network, fixture.options()) {
    testing::load(server_, {&kReadWriteAcquire, &kReadWriteRelease});
    for (int i = 0; i < 3; ++i) {
      Player& player = players_.emplace_back(fixture, ReadWriteOptions{.lock = {.lease = 1h}, .fair = fair});
      player.lock = player.peer.obtain(key);
    }
  }
  ~ReadWriteGame() {
    for (Player& player : players_) {
      ReadWriteLock& lock = *player.lock;
      while (lock.read().hold_count() > 0) result_of_void([&] { lock.release_shared(); });
      while (lock.hold_count() > 0) result_of_void([&] { lock.release(); });
    }
    server_.call({"DEL", key_, readers_key_});
  }

  void play(const Action& action) {
    Player& me = *std::next(players_.begin(), static_cast<std::ptrdiff_t>(action.peer));
    ReadWriteLock& lock = *me.lock;
    switch (action.step) {
      case Step::write: write(me); break;
      case Step::read: read(me); break;
      case Step::unwrite:
        if (me.writes > 1) {
          RC_ASSERT(result_of_void([&] { lock.release(); }) == Result::ok);
          --me.writes;
        } else if (me.writes == 1 && me.reads_as_writer > 0) {
          become_reader(me, me.reads_as_writer, [&] { lock.release(); });
        } else {
          give_back(me, me.writes, writer_ == &me, [&] { lock.release(); });
          if (writer_ == &me && me.writes == 0) writer_ = nullptr;
        }
        break;
      case Step::unread:
        if (me.reads_as_writer > 0) {
          RC_ASSERT(result_of_void([&] { lock.release_shared(); }) == Result::ok);
          --me.reads_as_writer;
        } else if (me.reads_known_lost) {
          RC_ASSERT(result_of_void([&] { lock.release_shared(); }) ==
                    (me.reads == 1 ? Result::lost : Result::ok));
          me.reads_known_lost = --me.reads > 0;
        } else {
          give_back(me, me.reads, readers_.contains(&me), [&] { lock.release_shared(); });
          if (me.reads == 0) readers_.erase(&me);
        }
        break;
      case Step::downgrade:
        if (me.writes == 1) {
          become_reader(me, me.reads_as_writer + 1, [&] { lock.downgrade(); });
        } else {
          RC_ASSERT(result_of_void([&] { lock.downgrade(); }) == Result::not_owner);
        }
        break;
      case Step::lose: {
        me.losing = action.number % 3 == 0 ? &kReadWriteAcquire : &kReadWriteRelease;
        me.peer.link.lose_reply_to(std::string(me.losing->sha1));
        break;
      }
      default:
        server_.call({"DEL", key_, readers_key_});
        writer_ = nullptr;
        readers_.clear();
    }
    RC_ASSERT(lock.hold_count() == me.writes);
    RC_ASSERT(lock.read().hold_count() == me.reads + me.reads_as_writer);
    const redis::Reply record = ask(server_, {"GET", key_});
    if (writer_ != nullptr) {
      RC_ASSERT(record.text == writer_->lock->acquisition() + " write");
    } else if (!readers_.empty()) {
      RC_ASSERT(record.text == "readers");
    } else {
      RC_ASSERT(record.is_nil());
    }
    RC_ASSERT(ask(server_, {"ZCARD", readers_key_}).integer == static_cast<std::int64_t>(readers_.size()));
    for (const Player* reader : readers_) {
      RC_ASSERT(!ask(server_, {"ZSCORE", readers_key_, reader->lock->read().acquisition()}).is_nil());
    }
  }

 private:
  struct Player {
    Player(Fixture& fixture, ReadWriteOptions options) : peer(fixture, options) {}
    testing::PeerOf<ReadWriteLocks, ReadWriteOptions> peer;
    std::shared_ptr<ReadWriteLock> lock;
    int writes = 0, reads = 0, reads_as_writer = 0;
    bool reads_known_lost = false;
    const redis::Script* losing = nullptr;
    bool loses(const redis::Script& script) {
      if (losing != &script) return false;
      losing = nullptr;
      return true;
    }
  };

  void write(Player& me) {
    const Result result = result_of([&] { return me.lock->try_lock(); });
    if (me.writes > 0) {
      RC_ASSERT(result == Result::ok);
      ++me.writes;
    } else if (me.reads > 0) {
      RC_ASSERT(result == Result::deadlock);
    } else {
      me.loses(kReadWriteAcquire);
      const bool free = writer_ == nullptr && readers_.empty();
      RC_ASSERT(result == (free ? Result::ok : Result::no));
      if (!free) return;
      me.writes = 1;
      writer_ = &me;
    }
  }
  void read(Player& me) {
    const Result result = result_of([&] { return me.lock->try_lock_shared(); });
    if (me.reads_known_lost) {
      RC_ASSERT(result == Result::lost);
      return;
    }
    if (me.writes > 0 || me.reads > 0) {
      RC_ASSERT(result == Result::ok);
      ++(me.writes > 0 ? me.reads_as_writer : me.reads);
      return;
    }
    me.loses(kReadWriteAcquire);
    RC_ASSERT(result == (writer_ == nullptr ? Result::ok : Result::no));
    if (writer_ != nullptr) return;
    me.reads = 1;
    readers_.insert(&me);
  }
  void become_reader(Player& me, int depth, const std::function<void()>& act) {
    const bool held = writer_ == &me;
    RC_ASSERT(result_of_void(act) == (held ? Result::ok : Result::lost));
    me.loses(kReadWriteRelease);
    me.reads = held ? depth : me.reads_as_writer;
    me.reads_known_lost = !held && me.reads > 0;
    me.writes = me.reads_as_writer = 0;
    if (!held) return;
    writer_ = nullptr;
    readers_.insert(&me);
  }
  void give_back(Player& me, int& depth, bool held, const std::function<void()>& act) {
    const Result result = result_of_void(act);
    if (depth == 0) {
      RC_ASSERT(result == Result::not_owner);
    } else if (--depth > 0) {
      RC_ASSERT(result == Result::ok);
    } else {
      const bool reply_lost = me.loses(kReadWriteRelease);  // "not there" may then be our own doing
      RC_ASSERT(result == (held || reply_lost ? Result::ok : Result::lost));
    }
  }

  const std::string key_, readers_key_;
  redis::Client server_;
  std::list<Player> players_;
  Player* writer_ = nullptr;
  std::set<const Player*> readers_;
};

// --- semaphore -------------------------------------------------------------------------------------------
// The third process' permits expire.
class SemaphoreGame {
 public:
  SemaphoreGame(Fixture& fixture, const std::string& key, bool)
      : key_(key),
        taken_key_("holdfast:semaphore:taken:{" + key + "}"),
        runtime_(fixture.runtime),
        exact_(fixture.where == Where::embedded),
        short_(exact_ ? 600ms : 300ms),
        server_(fixture.runtime, fixture.network, fixture.options()) {
    testing::load(server_, {&kSemaphoreAcquire, &kSemaphoreRelease});
    for (int i = 0; i < 3; ++i) {
      SemaphoreOptions options{.lock = {.lease = 1h}, .permits = limit_};
      if (i == 2) options.lock = {.lease = short_, .renew = false};
      Player& player = players_.emplace_back(fixture, options);
      player.lock = player.peer.obtain(key);
    }
  }
  ~SemaphoreGame() {
    for (Player& player : players_) {
      while (player.lock->hold_count() > 0) result_of_void([&] { player.lock->release(); });
    }
    server_.call({"DEL", key_, taken_key_, "holdfast:semaphore:permits:{" + key_ + "}"});
  }

  void play(const Action& action) {
    Player& me = *std::next(players_.begin(), static_cast<std::ptrdiff_t>(action.peer));
    settle();
    switch (action.step) {
      case Step::take: take(me, action.peer == 2, action.number + 1); break;
      case Step::give: give(me); break;
      case Step::lose:
        me.losing = action.number % 2 == 0 ? &kSemaphoreAcquire : &kSemaphoreRelease;
        me.peer.link.lose_reply_to(std::string(me.losing->sha1));
        break;
      case Step::resize:
        limit_ = action.number + 1;
        me.lock->set_permits(limit_);
        break;
      case Step::wait: wait(); break;
      default:
        server_.call({"DEL", key_, taken_key_});
        for (Player& player : players_) {
          for (Taken& taken : player.taken) taken.there = false;
        }
    }
    settle();
    int used = 0;
    for (Player& player : players_) {
      RC_ASSERT(player.lock->hold_count() == static_cast<int>(player.taken.size()));
      for (const Taken& taken : player.taken) used += taken.there ? taken.permits : 0;
    }
    const int free = me.lock->free_permits();
    be_in_time();
    RC_ASSERT(free == std::max(0, limit_ - used));
  }

 private:
  static constexpr Duration kMargin = 100ms;  // some time for the action in progress
  struct Taken {
    int permits;
    bool there = true;  // on the server
    // Expires, and is told so, between these two.
    MonotonicTime from = kNever, to = kNever;
    bool told = false;
  };
  struct Player {
    Player(Fixture& fixture, SemaphoreOptions options) : peer(fixture, options) {}
    testing::PeerOf<Semaphores, SemaphoreOptions> peer;
    std::shared_ptr<Semaphore> lock;
    std::vector<Taken> taken;
    const redis::Script* losing = nullptr;
    bool loses(const redis::Script& script) {
      if (losing != &script) return false;
      losing = nullptr;
      return true;
    }
  };

  // In virtual time a part of a lease goes by. On real time, where sleeping is dear, as much as lets the next
  // one end, if there is any.
  void wait() {
    MonotonicTime next = kNever;
    for (const Player& player : players_) {
      for (const Taken& taken : player.taken) {
        if (taken.there) next = std::min(next, taken.to);
      }
    }
    if (exact_) {
      runtime_.sleep_for(short_ / 3);
    } else if (next != kNever) {
      runtime_.sleep_until(next);
    }
  }
  // An action that a permit expired under may have come out either way; that the machine was busy elsewhere
  // for so long says nothing of semaphores.
  void be_in_time() {
    for (const Player& player : players_) {
      for (const Taken& taken : player.taken) {
        if (taken.told || runtime_.now() - (kMargin - 10ms) < taken.from) continue;
        RC_ASSERT(!exact_);
        throw TooLate();
      }
    }
  }
  // Lets no moment be at which it is uncertain whether something has expired.
  void settle() {
    for (bool again = true; again;) {
      again = false;
      for (Player& player : players_) {
        for (Taken& taken : player.taken) {
          const MonotonicTime now = runtime_.now();
          if (now < taken.from) continue;
          if (now < taken.to) {
            runtime_.sleep_until(taken.to);
            again = true;
          }
          taken.there = false;
          taken.told = true;
        }
      }
    }
  }
  void take(Player& me, bool expires, int permits) {
    int used = 0;
    for (Player& player : players_) {
      for (const Taken& taken : player.taken) used += taken.there ? taken.permits : 0;
    }
    const MonotonicTime before = runtime_.now();
    const Result result = result_of([&] { return me.lock->try_acquire(permits); });
    be_in_time();
    me.loses(kSemaphoreAcquire);
    if (permits > limit_) {
      RC_ASSERT(result == Result::rejected);
      return;
    }
    const bool free = used + permits <= limit_;
    RC_ASSERT(result == (free ? Result::ok : Result::no));
    if (!free) return;
    Taken taken{.permits = permits};
    if (expires) {
      taken.from = before + short_ - kMargin;
      taken.to = runtime_.now() + short_ + 5ms;
    }
    me.taken.push_back(taken);
  }
  void give(Player& me) {
    const Result result = result_of_void([&] { me.lock->release(); });
    be_in_time();
    if (me.taken.empty()) {
      RC_ASSERT(result == Result::not_owner);
      return;
    }
    const Taken taken = me.taken.back();
    me.taken.pop_back();
    const bool reply_lost = !taken.told && me.loses(kSemaphoreRelease);
    // "Not there" may be our own doing when a reply was lost.
    RC_ASSERT(result == (taken.there ? Result::ok : Result::lost) || (reply_lost && result == Result::ok));
  }

  const std::string key_, taken_key_;
  Runtime& runtime_;
  const bool exact_;
  const Duration short_;  // lease of the third process
  redis::Client server_;
  int limit_ = 4;
  std::list<Player> players_;
};

constexpr Weights kReadWriteSteps = {{6, Step::write},  {6, Step::read},      {6, Step::unwrite},
                                     {6, Step::unread}, {3, Step::downgrade}, {2, Step::lose},
                                     {1, Step::vanish}};
constexpr Weights kSemaphoreSteps = {{8, Step::take},   {6, Step::give}, {2, Step::lose},
                                     {2, Step::resize}, {3, Step::wait}, {1, Step::vanish}};

template <class Game>
void play(Fixture& fixture, const std::vector<Action>& actions, int number) {
  Game game(fixture, "k" + std::to_string(number), number % 2 == 1);
  for (const Action& action : actions) game.play(action);
}

// Each game in a world of its own, up to `length` steps.
template <class Game>
bool embedded(Weights weights, int length) {
  int number = 0;
  return rc::check([&] {
    const auto drawn = *rc::gen::resize(length, actions(weights));
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) { play<Game>(fixture, drawn, number++); });
  });
}

// Fewer games, and longer ones, than RapidCheck would play.
template <class Game>
bool real(Weights weights) {
  bool good = false;
  testing::with_fixture(Where::threads, [&](Fixture& fixture) {
    int number = 0;
    rc::detail::TestParams params;
    params.seed = 7;
    params.maxSuccess = 50;
    params.maxSize = 30;
    const auto result = rc::detail::checkTestable(
        [&] {
          const auto drawn = *actions(weights);
          try {
            play<Game>(fixture, drawn, number++);
          } catch (const TooLate&) {
            RC_DISCARD("the machine was busy elsewhere");  // ten of these for each that counts, at most
          }
        },
        rc::detail::TestMetadata{}, params);
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    good = result.template is<rc::detail::SuccessResult>();
    EXPECT_TRUE(good) << text.str();
  });
  return good;
}

TEST(ReadWriteModelTest, Embedded) {
  HF_NEEDS_VIRTUAL_TIME();
  EXPECT_TRUE(embedded<ReadWriteGame>(kReadWriteSteps, 100));
}
TEST(ReadWriteModelTest, RealRedis) { EXPECT_TRUE(real<ReadWriteGame>(kReadWriteSteps)); }
TEST(LongReadWriteModelTest, Embedded) {
  HF_NEEDS_VIRTUAL_TIME();
  EXPECT_TRUE(embedded<ReadWriteGame>(kReadWriteSteps, 2000));
}
TEST(SemaphoreModelTest, Embedded) {
  HF_NEEDS_VIRTUAL_TIME();
  EXPECT_TRUE(embedded<SemaphoreGame>(kSemaphoreSteps, 100));
}
TEST(SemaphoreModelTest, RealRedis) { EXPECT_TRUE(real<SemaphoreGame>(kSemaphoreSteps)); }
TEST(LongSemaphoreModelTest, Embedded) {
  HF_NEEDS_VIRTUAL_TIME();
  EXPECT_TRUE(embedded<SemaphoreGame>(kSemaphoreSteps, 2000));
}

}  // namespace
}  // namespace holdfast
