// Drawn sequences on every exclusive kind, next to a model of what must come out: several processes with
// several owners each acquire, try, wait for a bounded time, re-enter, release, force, end; time passes,
// replies are lost, the record and the counter of tokens vanish.
//
// The model knows what must be, what cannot be, and where both may be: between the end of a hold for its
// client and for the server, and from the end of a record until the watchdog looks. There it follows what
// happens; everywhere and always: no two owners believe in a hold of which the server knows.
//
// On real time nothing here may depend on how fast the machine is: leases are far longer than a game, the
// game waits until what is given back in the background has been given back, and a wait of a millisecond that
// took longer may end without an answer.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <vector>

#include "lib/lock/api/owner.h"
#include "lib/lock/engine/key_names.h"
#include "lib/lock/engine/lease.h"
#include "lib/testing/draw.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::Fixture;
using testing::Where;

constexpr std::size_t kPeers = 3, kOwners = 2;

enum class Step { try_lock, timed, release, force, abandon, lose_reply, vanish, lose_counter, pass };
struct Action {
  Step step;
  std::size_t peer, owner;
  int amount;  // of time: an index
};
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Action& action) {
  constexpr std::array names = {"try",        "timed",  "release",      "force", "abandon",
                                "lose-reply", "vanish", "lose-counter", "pass"};
  return out << names[static_cast<std::size_t>(action.step)] << action.peer << action.owner << "+"
             << action.amount;
}

rc::Gen<Action> any_action() {
  return rc::gen::construct<Action>(rc::gen::weightedElement<Step>({{8, Step::try_lock},
                                                                    {5, Step::timed},
                                                                    {9, Step::release},
                                                                    {1, Step::force},
                                                                    {1, Step::abandon},
                                                                    {2, Step::lose_reply},
                                                                    {1, Step::vanish},
                                                                    {1, Step::lose_counter},
                                                                    {4, Step::pass}}),
                                    testing::below(kPeers), testing::below(kOwners), testing::below(5));
}

enum class Result { yes, no, lost, not_owner, unavailable };
enum class May { yes, no, unknown };

template <class Call>
Result outcome(const Call& call) {
  try {
    return call() ? Result::yes : Result::no;
  } catch (const LockLost&) {
    return Result::lost;
  } catch (const NotOwner&) {
    return Result::not_owner;
  } catch (const Unavailable&) {
    return Result::unavailable;
  }
}

struct Party {  // one Owner of one process
  explicit Party(Runtime& runtime) : owner(runtime) {}
  Owner owner;
  int depth = 0;
  std::string acquisition = {};
  MonotonicTime asked{}, granted{};        // around the acquire
  std::optional<MonotonicTime> gone = {};  // when its record was taken from the server
};

struct Process {
  Process(Fixture& fixture, ExclusiveKind kind, const LockOptions& options, const std::string& key)
      : link(fixture.runtime, fixture.network, fixture.redis),
        peer(fixture, kind, options, link.endpoint()),
        lock(peer.obtain(key)) {
    for (std::size_t i = 0; i < kOwners; ++i) parties.push_back(std::make_unique<Party>(fixture.runtime));
  }
  testing::FaultyLink link;
  AnyPeer peer;
  std::shared_ptr<Lock> lock;
  std::vector<std::unique_ptr<Party>> parties;
  bool losing = false;
  MonotonicTime turn_unknown_until = MonotonicTime::min();  // a lost hold may still have the local turn
};

class Game {
 public:
  Game(Fixture& fixture, ExclusiveKind kind, bool renew, std::string key)
      : fixture_(fixture),
        runtime_(fixture.runtime),
        lease_(quick() ? Duration(3s) : Duration(60s)),
        slack_(quick() ? Duration(400ms) : Duration(60s)),
        kind_(kind),
        renew_(renew),
        key_(std::move(key)),
        server_(fixture.runtime, fixture.network, fixture.options()) {
    for (std::size_t i = 0; i < kPeers; ++i) {
      processes_.push_back(std::make_unique<Process>(
          fixture, kind, LockOptions{.lease = lease_, .renew = renew, .fencing = true}, key_));
    }
  }

  void play(const Action& action) {
    Process& process = *processes_[action.peer];
    Party& party = *process.parties[action.owner];
    switch (action.step) {
      case Step::try_lock: acquire(process, party, Duration::zero()); break;
      case Step::timed: acquire(process, party, waits()[static_cast<std::size_t>(action.amount)]); break;
      case Step::release: release(process, party); break;
      case Step::force: force(process); break;
      case Step::abandon: abandon(process, action.owner); break;
      case Step::lose_reply:
        process.link.lose_reply_to("\r\n" + key_ + "\r\n");  // of whatever it asks about the lock next
        process.losing = true;
        break;
      case Step::vanish:
        ask({"DEL", key_});
        record_gone();
        break;
      case Step::lose_counter: ask({"DEL", "holdfast:token:{" + key_ + "}"}); break;
      case Step::pass: runtime_.sleep_for(pauses()[static_cast<std::size_t>(action.amount)]); break;
    }
    if (quick()) runtime_.sleep_for(10ms);
    settle();
    check();
  }

  // Everybody lets go; then nothing is left and the lock is free.
  void end() {
    for (auto& process : processes_) {
      process->link.lose_reply_to("", 0);
      process->losing = true;  // one may be on its way
      for (auto& party : process->parties) {
        while (party->depth > 0) release(*process, *party);
      }
    }
    if (fixture_.where != Where::embedded) return;
    runtime_.sleep_for(2 * lease_);
    const redis::Reply keys = ask({"KEYS", "*{" + key_ + "}"});
    for (const redis::Reply& key : keys.items) RC_ASSERT(key.text == "holdfast:token:{" + key_ + "}");
    RC_ASSERT(ask({"EXISTS", key_}).integer == 0);
    for (auto& process : processes_) {
      RC_ASSERT(!process->lock->in_use());
      RC_ASSERT(process->lock->try_lock());
      process->lock->release();
    }
  }

 private:
  bool quick() const { return fixture_.where == Where::embedded; }
  std::array<Duration, 5> waits() const {
    if (quick()) return {1ms, 100ms, 900ms, 3500ms, 7s};
    return {1ms, 50ms, 100ms, 150ms, 200ms};
  }
  std::array<Duration, 5> pauses() const {
    if (quick()) return {10ms, 300ms, 1100ms, 2800ms, 6s};
    return {1ms, 2ms, 5ms, 10ms, 20ms};
  }
  redis::Reply ask(std::vector<std::string> command) {
    std::vector<std::string_view> views(command.begin(), command.end());
    return server_.call(redis::Arguments(views)).reply;
  }

  // [parks] What an attempt that was not granted may have left, a record or a place in the queue, is given
  // back in the background. Nobody waits now, so nobody else is in a queue.
  void settle() {
    const std::string fair = beside_key("holdfast:fair:queue", key_),
                      rw = beside_key("holdfast:rw:line", key_);
    const auto left_over = [&] {
      if (record_ == nullptr && runtime_.now() > unknown_until_ && !ask({"GET", key_}).is_nil()) return true;
      return ask({"EXISTS", fair, rw}).integer != 0;
    };
    while (!quick() && left_over()) runtime_.sleep_for(1ms);
  }

  // --- the model --------------------------------------------------------------------------------------
  // Is this party's hold in force for the client; and its record there on the server (if nobody took it)?
  May in_force(const Party& party, MonotonicTime at) const {
    if (party.depth == 0) return May::no;
    if (party.gone) {
      const MonotonicTime told =
          renew_ ? *party.gone + lease_ / 3 + slack_ : lease_end(party.granted, lease_);
      return at > told ? May::no : May::unknown;
    }
    if (renew_) return May::yes;
    if (at < lease_end(party.asked, lease_)) return May::yes;
    return at > lease_end(party.granted, lease_) ? May::no : May::unknown;
  }
  May recorded(MonotonicTime at) const {
    if (at <= unknown_until_ || (record_ == nullptr && at <= in_the_way_until_)) return May::unknown;
    if (record_ == nullptr) return May::no;
    if (renew_) return May::yes;
    if (at < record_->asked + lease_ - 2ms) return May::yes;
    return at > record_->granted + lease_ + 3ms ? May::no : May::unknown;
  }
  void record_gone() {
    if (record_ != nullptr) {
      record_->gone = runtime_.now();
      holder_->turn_unknown_until = runtime_.now() + lease_ + slack_;
    }
    record_ = nullptr;
    unknown_until_ = MonotonicTime::min();
  }
  // The record may stay until its lease ends; nobody renews it.
  void record_orphaned() {
    record_ = nullptr;
    unknown_until_ = runtime_.now() + lease_ + slack_;
  }
  // Could a newcomer of `process` get it at once?
  May obtainable(const Process& process, MonotonicTime at) const {
    switch (recorded(at)) {
      case May::yes: return May::no;
      case May::unknown: return May::unknown;
      case May::no: break;
    }
    // The server is free; here a hold that is over may not have been noticed yet.
    if (at <= in_the_way_until_) return May::unknown;
    return at <= process.turn_unknown_until || over_but_held_here(process, at) ? May::unknown : May::yes;
  }
  bool over_but_held_here(const Process& process, MonotonicTime at) const {
    return std::any_of(process.parties.begin(), process.parties.end(), [&](const auto& party) {
      return party->depth > 0 && (at <= party->granted + lease_ + slack_ || renew_);
    });
  }

  // --- steps ------------------------------------------------------------------------------------------
  void acquire(Process& process, Party& party, Duration wait) {
    const ActAs me(runtime_, party.owner);
    const MonotonicTime asked = runtime_.now();
    const May here = in_force(party, asked);
    const May at_once = obtainable(process, asked);
    const Result result = outcome([&] {
      return wait == Duration::zero() ? process.lock->try_lock() : process.lock->try_lock_for(wait);
    });
    const MonotonicTime answered = runtime_.now();
    const bool losing = process.losing;
    process.link.lose_reply_to("", 0);
    process.losing = false;
    if (party.depth > 0) {  // the server is not asked
      if (result == Result::lost) {
        RC_ASSERT(here != May::yes);
      } else {
        RC_ASSERT(here != May::no);
        RC_ASSERT((result == Result::yes) == (kind_ != ExclusiveKind::non_reentrant));
        if (result == Result::yes) ++party.depth;
      }
      return;
    }
    if (result == Result::unavailable) {  // the reply was lost, and no time was left to ask again
      if (quick()) RC_ASSERT(losing);     // on real time the machine may have been busy elsewhere
      if (quick()) RC_ASSERT(wait > Duration::zero());
      in_the_way_until_ =
          answered +
          (quick() ? slack_ : Duration(1s));  // what it may have got is given back in the background
      return;
    }
    RC_ASSERT((result == Result::yes || result == Result::no));
    if (result == Result::no) {
      const bool no_time = !quick() && wait > Duration::zero() && answered - asked >= wait;
      RC_ASSERT(at_once != May::yes || no_time);
      return;
    }
    RC_ASSERT(at_once != May::no || recorded(answered) != May::yes);
    if (record_ != nullptr) record_ = nullptr;  // its lease has run out: check() sees that its owner knows
    unknown_until_ = MonotonicTime::min();
    record_ = &party;
    holder_ = &process;
    party.depth = 1;
    party.gone.reset();
    party.asked = asked;
    if (wait > Duration::zero() && at_once != May::yes) party.asked = asked;  // it may have been any moment
    party.granted = answered;
    party.acquisition = process.lock->acquisition();
    const std::optional<std::uint64_t> token = process.lock->token();
    RC_ASSERT(token.has_value());
    RC_ASSERT(*token > last_token_);
    last_token_ = *token;
  }

  void release(Process& process, Party& party) {
    const ActAs me(runtime_, party.owner);
    const May here = in_force(party, runtime_.now());
    const Result result = outcome([&] {
      process.lock->release();
      return true;
    });
    const bool losing = process.losing;
    process.link.lose_reply_to("", 0);
    process.losing = false;
    if (party.depth == 0) {
      RC_ASSERT(result == Result::not_owner);
      return;
    }
    if (party.depth > 1) {
      --party.depth;
      RC_ASSERT(result == Result::yes);
      return;
    }
    const bool gone = party.gone.has_value();
    party.depth = 0;
    party.gone.reset();
    if (result == Result::yes) {
      // "Not there" is what a release looks like whose first answer was lost.
      RC_ASSERT((gone ? losing : here != May::no));
      if (record_ == &party) record_ = nullptr;
    } else {
      RC_ASSERT(result == Result::lost);
      RC_ASSERT(gone || here != May::yes);
      if (record_ == &party) record_orphaned();
    }
  }

  void force(Process& process) {
    const May there = recorded(runtime_.now());
    const Result result = outcome([&] { return process.lock->force_unlock(); });
    if (there == May::yes) RC_ASSERT(result == Result::yes);
    if (there == May::no && !process.losing) RC_ASSERT(result == Result::no);
    process.link.lose_reply_to("", 0);
    process.losing = false;
    record_gone();
  }

  // The owner ends without a word, and a new one takes its place.
  void abandon(Process& process, std::size_t number) {
    Party& party = *process.parties[number];
    if (party.depth > 0) {
      if (record_ == &party) record_orphaned();
      process.turn_unknown_until = runtime_.now() + lease_ + slack_;
    }
    process.parties[number] = std::make_unique<Party>(runtime_);
  }

  void check() {
    const redis::Reply record = ask({"GET", key_});
    const MonotonicTime now = runtime_.now();
    const May there = recorded(now);
    if (there == May::yes) {
      const bool tells = kind_ == ExclusiveKind::write;
      RC_ASSERT(record.text == record_->acquisition + (tells ? " write" : ""));
      RC_ASSERT(ask({"PTTL", key_}).integer > 0);
    } else if (there == May::no) {
      RC_ASSERT(record.is_nil());
    }
    int believers = 0;
    for (const auto& process : processes_) {
      for (const auto& party : process->parties) {
        const ActAs me(runtime_, party->owner);
        RC_ASSERT(process->lock->hold_count() == party->depth);
        const bool held = process->lock->is_held_by_me();
        const May expected = in_force(*party, now);
        if (expected == May::yes) RC_ASSERT(held);
        if (expected == May::no) RC_ASSERT(!held);
        if (held && !party->gone) ++believers;
        if (held) RC_ASSERT(process->lock->acquisition() == party->acquisition);
      }
    }
    RC_ASSERT(believers <= 1);
  }

  Fixture& fixture_;
  Runtime& runtime_;
  const Duration lease_;
  const Duration slack_;  // watchdog, ways, retries after a lost reply
  const ExclusiveKind kind_;
  const bool renew_;
  const std::string key_;
  redis::Client server_;
  std::vector<std::unique_ptr<Process>> processes_;
  Party* record_ = nullptr;  // whose record is on the server
  Process* holder_ = nullptr;
  MonotonicTime unknown_until_ = MonotonicTime::min();     // a record may be there that nobody renews
  MonotonicTime in_the_way_until_ = MonotonicTime::min();  // somebody who gave up may not be gone yet
  std::uint64_t last_token_ = 0;
};

void check_in_virtual_time(ExclusiveKind kind, int games, std::uint64_t seed) {
  HF_NEEDS_VIRTUAL_TIME();
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = games;
  params.maxSize = 100;
  const auto result = rc::detail::checkTestable(
      [&] {
        const auto actions = *rc::gen::container<std::vector<Action>>(any_action());
        const bool renew = *rc::gen::arbitrary<bool>();
        testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
          Game game(fixture, kind, renew, "k");
          for (const Action& action : actions) game.play(action);
          game.end();
        });
      },
      rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>())
      << testing::to_string(kind) << ", seed " << seed << "\n"
      << text.str();
}

class ExclusiveModel : public ::testing::TestWithParam<ExclusiveKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ExclusiveModel, ::testing::ValuesIn(testing::every_kind()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(ExclusiveModel, DrawnSequencesInVirtualTime) { check_in_virtual_time(GetParam(), 150, 1); }

TEST_P(ExclusiveModel, DrawnSequencesOnRealRedis) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    int number = 0;
    rc::detail::TestParams params;
    params.seed = 2;
    params.maxSuccess = 12;
    params.maxSize = 40;
    const auto result = rc::detail::checkTestable(
        [&] {
          const auto actions = *rc::gen::container<std::vector<Action>>(any_action());
          Game game(fixture, GetParam(), true, "k" + std::to_string(number++));
          for (const Action& action : actions) game.play(action);
          game.end();
        },
        rc::detail::TestMetadata{}, params);
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
  });
}

class LongExclusiveModel : public ::testing::TestWithParam<ExclusiveKind> {};
INSTANTIATE_TEST_SUITE_P(LongKinds, LongExclusiveModel, ::testing::ValuesIn(testing::every_kind()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(LongExclusiveModel, DrawnSequencesInVirtualTime) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) check_in_virtual_time(GetParam(), 1000, seed);
}

}  // namespace
}  // namespace holdfast
