// QuorumStore by itself: votes, what is undone of a vote that was not won, pending releases, renewals,
// tokens. On three and five embedded servers in virtual time, to the millisecond; with locks on top:
// redlock_test.cc.
#include "lib/lock/store/quorum_store.h"
#include "lib/lock/engine/key_names.h"

#include <gtest/gtest.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "lib/lock/engine/lease.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/redis/error.h"
#include "lib/testing/scene.h"
#include "lib/testing/servers.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::Reply;
using testing::ask;
using testing::FaultyLink;
using testing::Fixture;
using testing::Servers;
using testing::Where;

constexpr Duration kNodeTimeout = 200ms, kLease = 20s;
constexpr Duration kSoon = 20ms;  // some ways there and back
const std::string kMe = "11111111-1111-1111-1111-111111111111:1";
const std::string kOther = "22222222-2222-2222-2222-222222222222:1";

// A store whose way to each server is a link, and a look past the relays.
struct Votes {
  Votes(Fixture& fixture, Servers& servers, Duration node_timeout = kNodeTimeout, Duration lease = kLease)
      : runtime(fixture.runtime), lease_ms(milliseconds_text(lease)) {
    std::vector<redis::Client*> pointers;
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const std::string name = "r" + std::to_string(i + 1);
      const auto to = [&](const Endpoint& endpoint) {
        return redis::ClientOptions{.nodes = {{name, endpoint}}, .command_timeout = 60s};
      };
      relays.emplace_back(fixture.runtime, fixture.network, servers.endpoint(i));
      pointers.push_back(
          &clients.emplace_back(fixture.runtime, fixture.network, to(relays.back().endpoint())));
      straight.emplace_back(fixture.runtime, fixture.network, to(servers.endpoint(i)));
      testing::load(straight.back(), {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew});
      clients.back().call({"PING"});
    }
    store.emplace(pointers, node_timeout, lease);
  }
  FaultyLink& link(std::size_t i) { return *std::next(relays.begin(), static_cast<std::ptrdiff_t>(i)); }
  Reply at(std::size_t i, std::initializer_list<std::string_view> command) {
    return ask(*std::next(straight.begin(), static_cast<std::ptrdiff_t>(i)), command);
  }
  std::string holder(std::size_t i, std::string_view key = "k") { return at(i, {"GET", key}).text; }
  void give(std::size_t i, const std::string& owner, std::string_view key = "k") {
    at(i, {"SET", key, owner, "PX", "60000"});
  }
  // [parks] Until `owner` has nothing there any more.
  void wait_gone(std::size_t i) {
    while (holder(i) == kMe) runtime.sleep_for(1ms);
  }

  redis::Answer acquire(std::optional<MonotonicTime> deadline = std::nullopt, bool fencing = false) {
    const Wire wire = reentrant_wire_polling("k", {.fencing = fencing});
    const std::vector<std::string_view> keys(wire.acquire_keys.begin(), wire.acquire_keys.end());
    const std::vector<std::string_view> args{kMe, lease_ms};
    return store->acquire(wire, keys, args, {.deadline = deadline});
  }
  bool granted() { return acquire().reply.items.at(0).integer == 1; }
  std::int64_t release(bool background = false) {
    const Wire wire = reentrant_wire_polling("k", {});
    const std::vector<std::string_view> keys(wire.release_keys.begin(), wire.release_keys.end());
    const std::vector<std::string_view> args{kMe};
    return store->call(*wire.release, keys, args, {.background = background}).reply.integer;
  }

  Runtime& runtime;
  std::string lease_ms;
  std::list<FaultyLink> relays;
  std::list<redis::Client> clients, straight;
  std::optional<QuorumStore> store;
};

void on(int servers, const std::function<void(Fixture&, Servers&)>& body) {
  testing::on_servers(Where::embedded, servers, body);
}

const std::string kAcquire(kReentrantAcquire.sha1), kRelease(kReentrantRelease.sha1);

// Of three and of five servers any number belongs to somebody else: granted exactly where a majority is left.
// After a refusal nothing is ours anywhere when the call returns, and what is the other's stays.
TEST(QuorumStore, EveryDivisionOfTheVotes) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const int servers : {1, 2, 3, 5}) {
    on(servers, [&](Fixture& fixture, Servers& all) {
      Votes votes(fixture, all);
      const auto count = static_cast<std::size_t>(servers);
      EXPECT_EQ(votes.store->quorum(), count / 2 + 1);
      for (std::size_t taken = 0; taken <= count; ++taken) {
        for (std::size_t i = 0; i < count; ++i) {
          votes.at(i, {"DEL", "k"});
          if (i < taken) votes.give(i, kOther);
        }
        const bool wins = count - taken >= count / 2 + 1;
        EXPECT_EQ(votes.granted(), wins) << taken << " of " << count;
        if (wins) fixture.runtime.sleep_for(kSoon);  // those after the majority
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_EQ(votes.holder(i), i < taken ? kOther : wins ? kMe : "") << i << ", " << taken << " taken";
        }
        if (wins) {
          EXPECT_EQ(votes.release(), 1);
        }
        fixture.runtime.sleep_for(kSoon);
        for (std::size_t i = taken; i < count; ++i) EXPECT_EQ(votes.holder(i), "");
        EXPECT_EQ(votes.release(), 0);
      }
    });
  }
}

// The majority decides: the call does not wait for who cannot change it. The lease counts from the sending.
TEST(QuorumStore, TheSlowestDoesNotMatter) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    votes.link(2).stall(true);
    const MonotonicTime start = fixture.runtime.now();
    const redis::Answer yes = votes.acquire();
    EXPECT_EQ(yes.reply.items.at(0).integer, 1);
    EXPECT_EQ(yes.node, "2 of 3 servers");
    EXPECT_EQ(yes.sent_at, start);
    EXPECT_LT(fixture.runtime.now() - start, kSoon);
    EXPECT_EQ(votes.release(), 1);
    votes.give(0, kOther);
    votes.give(1, kOther);
    EXPECT_FALSE(votes.granted());
    EXPECT_LT(fixture.runtime.now() - start, 2 * kSoon);
    votes.link(2).stall(false);
    fixture.runtime.sleep_for(1s);
    EXPECT_EQ(votes.holder(2), "");
  });
}

// One server is silent, another belongs to somebody else: the vote of the third is given back at once, not
// after the node timeout, for which it would keep that other one from a majority.
TEST(QuorumStore, ASilentServerDoesNotProlongAContest) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    votes.link(2).stall(true);
    votes.give(0, kOther);
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_FALSE(votes.granted());
    EXPECT_EQ(votes.holder(1), "");
    EXPECT_LT(fixture.runtime.now() - start, 2 * kSoon);
    // While nobody refuses, a slow server is waited for: it can make the majority.
    votes.link(1).stall(true);
    votes.at(0, {"DEL", "k"});
    Task late = fixture.runtime.spawn("client", [&] {
      fixture.runtime.sleep_for(kNodeTimeout / 2);
      votes.link(1).stall(false);
    });
    EXPECT_TRUE(votes.granted());
    votes.link(2).stall(false);
  });
}

// The second vote of the majority comes after 600 ms. sent_at is the sending of the first request all the
// same, so that the lease that is counted from it is no longer than the first server's.
TEST(QuorumStore, TheLeaseCountsFromTheFirstSending) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers, 1s);
    votes.link(1).stall(true);
    votes.link(2).stall(true);
    const Task thaw = fixture.runtime.spawn("client", [&] {
      fixture.runtime.sleep_for(600ms);
      votes.link(1).stall(false);
      votes.link(2).stall(false);
    });
    const MonotonicTime start = fixture.runtime.now();
    const redis::Answer answer = votes.acquire();
    EXPECT_EQ(answer.reply.items.at(0).integer, 1);
    EXPECT_EQ(answer.sent_at, start);
    const MonotonicTime answered = fixture.runtime.now();
    EXPECT_GE(answered - start, 600ms);
    const Duration left = std::chrono::milliseconds(votes.at(0, {"PTTL", "k"}).integer);
    EXPECT_LE(lease_end(answer.sent_at, kLease), answered + left);
    EXPECT_GT(lease_end(answered, kLease), answered + left) << "counted from the answer it would be too long";
  });
}

// Nobody says no, and a majority says nothing: that is no refusal but an error, at the node timeout, or at
// the caller's deadline when that is sooner. It names each server.
TEST(QuorumStore, SilenceIsNoRefusal) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    votes.link(1).stall(true);
    votes.link(2).stall(true);
    for (const Duration patience : {Duration(60ms), Duration(1h)}) {
      const MonotonicTime start = fixture.runtime.now();
      try {
        votes.acquire(start + patience);
        ADD_FAILURE();
      } catch (const redis::Error& error) {
        EXPECT_EQ(error.kind(), redis::Error::Kind::timed_out);
        EXPECT_TRUE(error.may_have_executed()) << "one server has granted it";
        EXPECT_NE(std::string(error.what()).find("r2: "), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("r3: "), std::string::npos) << error.what();
      }
      const Duration took = fixture.runtime.now() - start, bound = std::min(patience, kNodeTimeout);
      EXPECT_GE(took, bound);
      EXPECT_LE(took, bound + 1ms);
    }
    // One refusal among the silent is enough to say no, as soon as the rest cannot make a majority.
    votes.give(0, kOther);
    EXPECT_FALSE(votes.granted());
  });
}

// Two refuse at once; the third one's request is on its way until long after, and then it grants. It is told
// then, too: its record must not stay for a lease.
TEST(QuorumStore, AVoteThatComesAfterTheRefusal) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    for (const Duration late : {Duration(50ms), Duration(900ms)}) {  // within the node timeout, and after it
      Votes votes(fixture, servers);
      votes.give(0, kOther);
      votes.give(1, kOther);
      votes.link(2).count(kAcquire);
      votes.link(2).stall(true);
      const MonotonicTime start = fixture.runtime.now();
      EXPECT_FALSE(votes.granted());
      EXPECT_LT(fixture.runtime.now() - start, kSoon);
      fixture.runtime.sleep_for(late);
      EXPECT_EQ(votes.link(2).counted(), 0);
      votes.link(2).stall(false);
      fixture.runtime.sleep_for(kSoon + votes.store->options().backoff_max);
      EXPECT_EQ(votes.link(2).counted(), 1) << "the late vote was cast";
      EXPECT_EQ(votes.holder(2), "");
      EXPECT_EQ(votes.holder(0), kOther);
    }
  });
}

// The answer is lost, not late: whether that server has granted is not known, and it is told all the same.
TEST(QuorumStore, AVoteOfUnknownOutcomeIsUndone) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    votes.give(0, kOther);
    votes.give(1, kOther);
    votes.link(2).lose_reply_to(kAcquire);
    EXPECT_FALSE(votes.granted());
    fixture.runtime.sleep_for(kSoon + votes.store->options().backoff_max);
    EXPECT_EQ(votes.link(2).to_lose(), 0);
    EXPECT_EQ(votes.holder(2), "");
  });
}

// A minority is given back before the refusal is told, but no later than at the caller's deadline: the word
// to a server that hangs goes on in the background.
TEST(QuorumStore, TheUndoKeepsTheDeadline) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers, 10s);
    votes.give(0, kOther);
    votes.give(1, kOther);
    for (const Duration patience : {Duration(100ms), Duration(1h)}) {
      votes.link(2).hold_request(kRelease);
      const MonotonicTime start = fixture.runtime.now();
      const Task thaw = fixture.runtime.spawn("client", [&] {
        fixture.runtime.sleep_for(500ms);
        EXPECT_EQ(votes.holder(2), kMe);
        votes.link(2).release_request();
      });
      EXPECT_EQ(votes.acquire(start + patience).reply.items.at(0).integer, 0);
      const Duration took = fixture.runtime.now() - start;
      EXPECT_GE(took, std::min<Duration>(patience, 500ms));
      EXPECT_LE(took, std::min<Duration>(patience, 500ms) + kSoon);
      votes.wait_gone(2);
      EXPECT_LT(fixture.runtime.now() - start, 1s);
    }
  });
}

// A release that a majority has confirmed is over; who did not answer owes it, and is asked until it has
// answered, or the lease is over. One silent server does not hold up what another one owes.
TEST(QuorumStore, PendingReleasesAreSent) {
  HF_NEEDS_VIRTUAL_TIME();
  on(5, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    EXPECT_TRUE(votes.granted());
    fixture.runtime.sleep_for(kSoon);
    votes.link(3).stall(true);
    votes.link(4).lose_request_with(kRelease, 2);
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_EQ(votes.release(), 1);
    EXPECT_LT(fixture.runtime.now() - start, kSoon);
    EXPECT_EQ(votes.holder(3), kMe);
    votes.wait_gone(4);
    EXPECT_LT(fixture.runtime.now() - start, 3s);
    EXPECT_EQ(votes.holder(3), kMe);
    fixture.runtime.sleep_for(3s);
    votes.link(3).stall(false);
    const MonotonicTime back = fixture.runtime.now();
    votes.wait_gone(3);
    EXPECT_LT(fixture.runtime.now() - back, 2 * votes.store->options().backoff_max + kNodeTimeout);
    // Then it is over.
    fixture.runtime.sleep_for(1s);
    votes.give(3, kMe);
    fixture.runtime.sleep_for(5s);
    EXPECT_EQ(votes.holder(3), kMe);
  });
}

// And one that was asked for with a lease of its own, with that.
TEST(QuorumStore, PendingReleasesEndWithTheLongestLease) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers, kNodeTimeout, 3s);
    EXPECT_TRUE(votes.granted());
    votes.lease_ms = "30000";
    EXPECT_TRUE(votes.granted());
    fixture.runtime.sleep_for(kSoon);
    votes.link(2).lose_request_with(kRelease, 1'000'000);
    EXPECT_EQ(votes.release(), 1);
    fixture.runtime.sleep_for(20s);
    const int then = votes.link(2).to_lose();
    fixture.runtime.sleep_for(5s);
    EXPECT_LT(votes.link(2).to_lose(), then) << "it is still being tried";
    fixture.runtime.sleep_for(6s + votes.store->options().backoff_max + kNodeTimeout);
    const int left = votes.link(2).to_lose();
    fixture.runtime.sleep_for(10s);
    EXPECT_EQ(votes.link(2).to_lose(), left);
  });
}

TEST(QuorumStore, PendingReleasesEndWithTheLease) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers, kNodeTimeout, 3s);
    EXPECT_TRUE(votes.granted());
    fixture.runtime.sleep_for(kSoon);
    constexpr int kMany = 1000;
    votes.link(2).lose_request_with(kRelease, kMany);
    EXPECT_EQ(votes.release(), 1);
    fixture.runtime.sleep_for(3s + votes.store->options().backoff_max + kNodeTimeout);
    const int left = votes.link(2).to_lose();
    EXPECT_LT(left, kMany - 2);
    EXPECT_GT(left, kMany - 40) << "not in a busy loop";
    fixture.runtime.sleep_for(10s);
    EXPECT_EQ(votes.link(2).to_lose(), left);
  });
}

// Who calls in the background wants to know that every server has it, and says it again himself: no pending.
// A forced release names no owner: said late it would hit somebody else.
TEST(QuorumStore, WhatIsNotOwed) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    EXPECT_TRUE(votes.granted());
    votes.link(1).lose_request_with(kRelease, 1000);
    EXPECT_THROW(votes.release(true), redis::Error);
    const int left = votes.link(1).to_lose();
    fixture.runtime.sleep_for(5s);
    EXPECT_EQ(votes.link(1).to_lose(), left);
    votes.link(1).lose_request_with("", 0);
    EXPECT_NO_THROW(votes.release(true));
    EXPECT_EQ(votes.holder(1), "");

    for (std::size_t i = 0; i < 3; ++i) votes.give(i, kOther);
    votes.link(1).lose_request_with(std::string(kReentrantRelease.sha1), 1000);
    const std::vector<std::string_view> keys{"k", "channel"};
    EXPECT_EQ(votes.store->call(kReentrantRelease, keys, {}, {}).reply.integer, 1);
    fixture.runtime.sleep_for(5s);
    EXPECT_EQ(votes.link(1).to_lose(), 999);
    EXPECT_EQ(votes.holder(1), kOther);
  });
}

// Every lock of a batch has a vote of its own; nothing is brought back and nothing shortened. A server that
// hangs: what can be said of the others is said, the rest is a failure that may be tried again.
TEST(QuorumStore, RenewalsVoteByLock) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    Votes votes(fixture, servers);
    for (std::size_t i = 0; i < 3; ++i) {
      votes.give(i, kMe, "all");
      votes.give(i, i == 0 ? kOther : kMe, "two");
      if (i == 1) votes.give(i, kMe, "one");
    }
    const std::vector<std::string_view> keys{"all", "two", "one"}, args{"90000", kMe, kMe, kMe};
    const auto renew = [&] { return votes.store->renew(kReentrantRenew, keys, args, {}); };
    const MonotonicTime start = fixture.runtime.now();
    redis::Answer answer = renew();
    EXPECT_EQ(answer.sent_at, start);
    ASSERT_EQ(answer.reply.items.size(), 3u);
    EXPECT_EQ(answer.reply.items[0].integer, 1);
    EXPECT_EQ(answer.reply.items[1].integer, 1);
    EXPECT_EQ(answer.reply.items[2].integer, 0);
    EXPECT_EQ(votes.holder(0, "one"), "");
    EXPECT_EQ(votes.holder(0, "two"), kOther);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_GT(votes.at(i, {"PTTL", "all"}).integer, 80000);
    EXPECT_LT(votes.at(0, {"PTTL", "two"}).integer, 61000) << "the other one's";

    votes.link(2).stall(true);
    const MonotonicTime then = fixture.runtime.now();
    answer = renew();
    EXPECT_EQ(answer.sent_at, then);
    EXPECT_LE(fixture.runtime.now() - then, kNodeTimeout + 1ms);
    EXPECT_EQ(answer.reply.items[0].integer, 1);
    EXPECT_EQ(answer.reply.items[1].type, Reply::Type::error) << "one yes, one no, one silent";
    EXPECT_EQ(answer.reply.items[1].text, "only 1 of the servers renewed it");
    EXPECT_EQ(answer.reply.items[2].type, Reply::Type::error) << "one yes, one no, one silent";
    votes.at(1, {"DEL", "one"});
    EXPECT_EQ(renew().reply.items[2].type, Reply::Type::integer) << "two have said no";
    votes.link(1).stall(true);
    EXPECT_THROW(renew(), redis::Error);
  });
}

// The token is the greatest that the voters drew, and a majority has it when the call returns.
TEST(QuorumStore, TokensAreRaisedToTheGreatest) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    const std::string counter = token_key("k");
    const std::vector<std::string_view> last{"9000000000000030", "9000000000000010", "9000000000000020"};
    for (std::size_t away = 0; away < 3; ++away) {
      Votes votes(fixture, servers);
      std::int64_t greatest = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        votes.at(i, {"DEL", "k"});
        votes.at(i, {"SET", counter, last[i]});
        if (i != away) greatest = std::max<std::int64_t>(greatest, std::stoll(std::string(last[i])) + 1);
      }
      votes.link(away).stall(true);
      const redis::Answer answer = votes.acquire(std::nullopt, true);
      ASSERT_EQ(answer.reply.items.size(), 3u);
      EXPECT_EQ(answer.reply.items[2].integer, greatest) << away;
      for (std::size_t i = 0; i < 3; ++i) {
        if (i == away) continue;
        EXPECT_EQ(votes.at(i, {"GET", counter}).text, std::to_string(greatest)) << i << ", without " << away;
      }
    }
    // A majority loses the record between the vote and the raising: no grant, but an error.
    Votes votes(fixture, servers);
    for (std::size_t i = 0; i < 3; ++i) votes.at(i, {"DEL", "k"});
    for (std::size_t i = 0; i < 3; ++i) votes.link(i).hold_request(counter + "\r\n$");
    const Task thief = fixture.runtime.spawn("client", [&] {
      for (std::size_t i = 0; i < 3; ++i) {
        votes.link(i).wait_held();
        votes.link(i).hold_request("9000000000000");  // the token that is to be theirs
        votes.link(i).release_request();
      }
      for (std::size_t i = 0; i < 3; ++i) votes.link(i).wait_held();
      for (std::size_t i = 1; i < 3; ++i) votes.at(i, {"DEL", "k"});
      for (std::size_t i = 0; i < 3; ++i) votes.link(i).release_request();
    });
    EXPECT_THROW(static_cast<void>(votes.acquire(std::nullopt, true)), redis::Error);
  });
}

// It is destroyed while requests are under way and pending releases are owed.
TEST(QuorumStore, TheEnd) {
  HF_NEEDS_VIRTUAL_TIME();
  on(3, [](Fixture& fixture, Servers& servers) {
    for (const bool refused : {false, true}) {
      Votes votes(fixture, servers);
      for (std::size_t i = 0; i < 2; ++i) {
        votes.at(i, {"DEL", "k"});
        if (refused) votes.give(i, kOther);
      }
      votes.link(2).stall(true);
      EXPECT_EQ(votes.granted(), !refused);
      if (!refused) {
        EXPECT_EQ(votes.release(), 1);
      }
      const MonotonicTime start = fixture.runtime.now();
      votes.store.reset();
      EXPECT_LE(fixture.runtime.now() - start, 2 * kNodeTimeout + kSoon);
    }
  });
}

// The last token of a lock rises in the name of who holds it, and of nobody else; it never falls.
TEST(QuorumTokens, AreRaisedByTheHolderAlone) {
  for (const Where where : testing::everywhere()) {
    testing::with_fixture(where, [&](Fixture& fixture) {
      redis::Client server(fixture.runtime, fixture.network, fixture.options());
      const auto raise = [&](const std::string& owner, const char* token) {
        return ask(server, {"EVAL", kRaiseToken.text, "2", "k", "token", owner, token, "60000"}).integer;
      };
      EXPECT_EQ(raise(kMe, "7"), 0);  // nobody holds it
      ask(server, {"SET", "k", kMe});
      EXPECT_EQ(raise(kOther, "7"), 0);
      EXPECT_TRUE(ask(server, {"GET", "token"}).is_nil());
      EXPECT_EQ(raise(kMe, "7"), 1);
      EXPECT_EQ(raise(kMe, "5"), 1);
      EXPECT_EQ(ask(server, {"GET", "token"}).text, "7");
      EXPECT_EQ(raise(kOther, "9"), 0);
      EXPECT_EQ(ask(server, {"GET", "token"}).text, "7");
      EXPECT_GT(ask(server, {"PTTL", "token"}).integer, 50'000);
    });
  }
}

}  // namespace
}  // namespace holdfast
