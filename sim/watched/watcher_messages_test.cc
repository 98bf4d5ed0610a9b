// Single messages, put before the watcher by hand: what seldom happens on a wire, or in an order that is hard
// to bring about.
#include "sim/watched/watcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/redis/script_engine.h"
#include "sim/scenario/parse_recogniser.h"
#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using checker::EventType;
using checker::Function;
using redis::Reply;
using namespace std::chrono_literals;

constexpr std::string_view kCompareAndDelete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

Reply of(Reply::Type type, std::string text = "", std::int64_t integer = 0, std::vector<Reply> items = {}) {
  Reply reply;
  reply.type = type;
  reply.text = std::move(text);
  reply.integer = integer;
  reply.items = std::move(items);
  return reply;
}
Reply status(std::string text) { return of(Reply::Type::status, std::move(text)); }
Reply error(std::string text) { return of(Reply::Type::error, std::move(text)); }
Reply integer(std::int64_t value) { return of(Reply::Type::integer, "", value); }
Reply list(std::vector<Reply> items) { return of(Reply::Type::array, "", 0, std::move(items)); }
const Reply kNil{};

class WatcherMessages : public ::testing::Test {
 protected:
  std::uint64_t send(const Words& words) { return send(words, ""); }
  // `bytes`: of a whole transaction.
  std::uint64_t send(const Words& words, std::string_view bytes) {
    const std::uint64_t exchange = ++exchanges_;
    sent_[exchange].assign(words.begin(), words.end());
    pass(exchange, bytes, nullptr);
    return exchange;
  }
  void answer(std::uint64_t exchange, const Reply& reply, Fate fate = Fate::delivered) {
    pass(exchange, "", &reply);
    watcher_->became(exchange, fate);
  }
  void say(const Words& words, const Reply& reply) { answer(send(words), reply); }

  void acquire(std::string_view owner = "me") {
    say({"SET", "stock", owner, "NX", "PX", "1000"}, status("OK"));
  }
  void pass_time(std::chrono::milliseconds time) { world_->harness().runtime().sleep_for(time); }

  // "acquire? acquire+ release?": what began, and how it ended.
  std::string story() const {
    std::string story;
    for (const checker::Event& event : recorder_.history().events()) {
      story += story.empty() ? "" : " ";
      story += event.f == Function::acquire ? "acquire" : event.f == Function::release ? "release" : "renew";
      story += event.type == EventType::invoke ? "?"
               : event.type == EventType::ok   ? "+"
               : event.type == EventType::fail ? "-"
                                               : "!";
    }
    return story;
  }
  std::size_t lost() const { return watcher_->given_up().size(); }

  std::unique_ptr<World> world_ = make_embedded_world({.seed = 1});
  Recorder recorder_{*world_};
  std::optional<Watcher> watcher_{std::in_place, recorder_, *find_recogniser("set-nx")};

  void pass(std::uint64_t exchange, std::string_view bytes, const Reply* reply) {
    static const Link kLink{.from = "c1", .to = "n1", .connection = 7};
    const std::vector<std::string>& stored = sent_[exchange];
    const std::vector<std::string_view> words(stored.begin(), stored.end());
    watcher_->see({.link = kLink,
                   .direction = reply == nullptr ? Direction::request : Direction::reply,
                   .bytes = bytes,
                   .command = words.front(),
                   .arguments = words,
                   .reply = reply,
                   .exchange = exchange});
  }

 private:
  std::map<std::uint64_t, std::vector<std::string>> sent_;
  std::uint64_t exchanges_ = 0;
};

const std::string kDigest = embedded::sha1_hex(kCompareAndDelete);

TEST_F(WatcherMessages, AReleaseWhoseScriptTheServerForgotIsOneRelease) {
  acquire();
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(1));
  acquire();
  say({"EVALSHA", kDigest, "1", "stock", "me"}, error("NOSCRIPT No matching script. Please use EVAL."));
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ release? release+ acquire? acquire+ release? release+");
}

TEST_F(WatcherMessages, AReleaseThatIsAskedAgainAfterAnErrorIsOneRelease) {
  acquire();
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"},
      error("LOADING Redis is loading the dataset in memory"));
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ release? release+");
}

TEST_F(WatcherMessages, OfTwoReleasesInFlightTheOneThatReleasedCounts) {
  acquire();
  const std::uint64_t first = send({"EVAL", kCompareAndDelete, "1", "stock", "me"});
  const std::uint64_t second = send({"EVAL", kCompareAndDelete, "1", "stock", "me"});
  answer(second, integer(0));
  answer(first, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ release? release+");
}

TEST_F(WatcherMessages, ALateAnswerToAReleaseDoesNotEndTheNextHold) {
  acquire();
  const std::uint64_t first = send({"EVAL", kCompareAndDelete, "1", "stock", "me"});
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(0));
  acquire();
  answer(first, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ release? acquire? acquire+");
}

TEST_F(WatcherMessages, AnEntryThatWasNotGivenBackIsStillThere) {
  Recogniser counts = *find_recogniser("set-nx");
  counts.counts = true;
  watcher_.emplace(recorder_, counts);
  acquire();
  acquire();
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"},
      error("LOADING Redis is loading the dataset in memory"));
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ renew? renew+");
  say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ renew? renew+ release? release+");
}

TEST_F(WatcherMessages, WhoCouldNotReleaseAndAsksAgainHasAHoldOfItsOwn) {
  world_->run([&] {
    acquire();
    say({"EVAL", kCompareAndDelete, "1", "stock", "me"},
        error("READONLY You can't write against a replica."));
    pass_time(2000ms);
    acquire();
    EXPECT_EQ(story(), "acquire? acquire+ release? acquire? acquire+");
    EXPECT_EQ(lost(), 0u);  // nobody was surprised by the end of a lease
    pass_time(2000ms);
    EXPECT_EQ(lost(), 1u);
  });
}

TEST_F(WatcherMessages, AReleaseThatPassesBeforeTheGrantIsToldIsNone) {
  const std::uint64_t grant = send({"SET", "stock", "me", "NX", "PX", "1000"});
  const std::uint64_t release = send({"EVAL", kCompareAndDelete, "1", "stock", "me"});
  answer(grant, status("OK"));
  answer(release, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+");
}

constexpr std::string_view kDeleted = "MULTI\r\nINCR n\r\nDEL stock\r\nEXEC\r\n";

TEST_F(WatcherMessages, AReleaseWithinAPipelinedTransaction) {
  acquire();
  const std::uint64_t exec = send({"EXEC"}, kDeleted);
  EXPECT_EQ(story(), "acquire? acquire+ release?");
  answer(exec, list({integer(0), integer(1)}));
  EXPECT_EQ(story(), "acquire? acquire+ release? release+");
}

TEST_F(WatcherMessages, AReleaseWithinATransactionThatPassesInPieces) {
  acquire();
  say({"MULTI"}, status("OK"));
  say({"INCR", "n"}, status("QUEUED"));
  say({"DEL", "stock"}, status("QUEUED"));
  EXPECT_EQ(story(), "acquire? acquire+ release?");
  say({"EXEC"}, list({integer(0), integer(1)}));
  EXPECT_EQ(story(), "acquire? acquire+ release? release+");
}

TEST_F(WatcherMessages, ATransactionThatWasNotExecutedReleasesNothing) {
  for (const Reply& reply : {kNil, error("EXECABORT Transaction discarded because of previous errors.")}) {
    acquire();
    answer(send({"EXEC"}, kDeleted), reply);
    answer(send({"EXEC"}, kDeleted), list({integer(0), integer(1)}));
  }
  acquire();
  say({"MULTI"}, status("OK"));
  say({"DEL", "stock"}, status("QUEUED"));
  say({"DISCARD"}, status("OK"));
  const std::string once = "acquire? acquire+ release? release+ ";
  EXPECT_EQ(story(), once + once + "acquire? acquire+ release?");
}

TEST_F(WatcherMessages, AGrantWithinATransactionIsReadFromItsOwnAnswer) {
  const std::string_view asked = "MULTI\r\nSET stock me NX PX 1000\r\nINCR n\r\nEXEC\r\n";
  answer(send({"EXEC"}, asked), list({kNil, integer(1)}));
  EXPECT_EQ(story(), "acquire?");
  answer(send({"EXEC"}, asked), list({status("OK"), integer(2)}));
  EXPECT_EQ(story(), "acquire? acquire+");
}

TEST_F(WatcherMessages, AnAnswerCountsWhenItHasArrived) {
  world_->run([&] {
    const std::uint64_t asked = send({"SET", "stock", "me", "NX", "PX", "1000"});
    const Reply granted = status("OK");
    pass(asked, "", &granted);
    EXPECT_EQ(story(), "acquire?");
    pass_time(300ms);
    watcher_->became(asked, Fate::delivered);
    EXPECT_EQ(story(), "acquire? acquire+");
    const checker::Event& grant = recorder_.history().events().back();
    EXPECT_EQ(grant.valid_until_ns - grant.time_ns, 700'000'000) << "its lease counts from the request";
    watcher_->became(asked, Fate::delivered);
    EXPECT_EQ(story(), "acquire? acquire+") << "it arrives once";
  });
}

TEST_F(WatcherMessages, AGrantWhoseAnswerIsDestroyedIsNoHold) {
  world_->run([&] {
    for (const Fate fate : {Fate::dropped, Fate::cut}) {
      answer(send({"SET", "stock", "me", "NX", "PX", "1000"}), status("OK"), fate);
      say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(1));  // to be sure
    }
    EXPECT_EQ(story(), "acquire? acquire! acquire? acquire!");
    pass_time(2s);
    EXPECT_EQ(lost(), 0u) << "nobody held it";
    acquire();
    const auto& events = recorder_.history().events();
    EXPECT_EQ(recorder_.history().text(events[1].error), "the answer did not arrive");
    EXPECT_NE(events[1].process, events.back().process) << "the name of that thread is not used again";
  });
}

TEST_F(WatcherMessages, ARefusalThatIsDestroyedLeavesItsClientWaiting) {
  answer(send({"SET", "stock", "me", "NX", "PX", "1000"}), kNil, Fate::cut);
  EXPECT_EQ(story(), "acquire?");
  acquire();
  EXPECT_EQ(story(), "acquire? acquire+");
}

TEST_F(WatcherMessages, ARenewalAndAReleaseWhoseAnswersAreDestroyed) {
  world_->run([&] {
    acquire();
    const std::int64_t until = recorder_.history().events().back().valid_until_ns;
    pass_time(500ms);
    answer(send({"PEXPIRE", "stock", "5000"}), integer(1), Fate::dropped);
    EXPECT_EQ(story(), "acquire? acquire+");
    EXPECT_EQ(recorder_.history().events().back().valid_until_ns, until);
    answer(send({"EVAL", kCompareAndDelete, "1", "stock", "me"}), integer(1), Fate::cut);
    EXPECT_EQ(story(), "acquire? acquire+ release? release!");
    say({"EVAL", kCompareAndDelete, "1", "stock", "me"}, integer(0));
    EXPECT_EQ(story(), "acquire? acquire+ release? release!") << "the hold was over already";
  });
}

TEST_F(WatcherMessages, ATransactionWhoseAnswerIsDestroyed) {
  acquire();
  say({"MULTI"}, status("OK"));
  say({"INCR", "n"}, status("QUEUED"));
  say({"DEL", "stock"}, status("QUEUED"));
  answer(send({"EXEC"}), list({integer(0), integer(1)}), Fate::cut);
  EXPECT_EQ(story(), "acquire? acquire+ release? release!");
}

TEST_F(WatcherMessages, OnlyWhoAsksForTheLockIsUnderstood) {
  say({"DEL", "stock"}, integer(1));
  say({"PEXPIRE", "stock", "1000"}, integer(0));
  EXPECT_EQ(watcher_->understood("c1"), 0u);
  acquire();
  EXPECT_EQ(watcher_->understood("c1"), 1u);
}

// --- clients that are known by the pages of their own -----------------------------------------------------

constexpr std::string_view kRedsyncDelete =
    "local val = redis.call('GET', KEYS[1]) if val == ARGV[1] then return redis.call('DEL', KEYS[1]) "
    "elseif val == false then return -1 else return 0 end";
constexpr std::string_view kRedsyncTouch =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
    "elseif redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return 1 else return 0 end";

TEST_F(WatcherMessages, RedsyncGivesBackExtendsAndIsRefused) {
  watcher_.emplace(recorder_, *find_recogniser("redsync"));
  say({"SET", "stock", "v1", "NX", "PX", "8000"}, kNil);
  say({"EVALSHA", embedded::sha1_hex(kRedsyncDelete), "1", "stock", "v1"},
      error("NOSCRIPT No matching script."));
  say({"EVAL", kRedsyncDelete, "1", "stock", "v1"}, integer(0));  // what it may have got
  say({"set", "stock", "v1", "ex", "8", "nx"}, status("OK"));     // on go-redis
  say({"EVAL", kRedsyncTouch, "1", "stock", "v1", "8000"}, integer(1));
  say({"EVALSHA", embedded::sha1_hex(kRedsyncDelete), "1", "stock", "v1"}, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ renew? renew+ release? release+");
  acquire("v2");
  say({"EVALSHA", embedded::sha1_hex(kRedsyncDelete), "1", "stock", "v2"}, integer(-1));
  EXPECT_EQ(story(), "acquire? acquire+ renew? renew+ release? release+ acquire? acquire+ release? release-");
}

constexpr std::string_view kRedlockRbLock =
    "if (redis.call(\"exists\", KEYS[1]) == 0 and ARGV[3] == \"yes\") or redis.call(\"get\", KEYS[1]) == "
    "ARGV[1] then "
    "return redis.call(\"set\", KEYS[1], ARGV[1], \"PX\", ARGV[2]) end";

TEST_F(WatcherMessages, RedlockRbExtendsByTheScriptThatAcquires) {
  watcher_.emplace(recorder_, *find_recogniser("redlock-rb"));
  const std::string digest = embedded::sha1_hex(kRedlockRbLock);
  say({"EVALSHA", digest, "1", "stock", "v1", "2000", "yes"}, error("NOSCRIPT No matching script."));
  say({"SCRIPT", "LOAD", kRedlockRbLock}, status(digest));
  say({"EVALSHA", digest, "1", "stock", "v1", "2000", "yes"}, status("OK"));
  say({"EVALSHA", digest, "1", "stock", "v1", "2000", "yes"}, status("OK"));
  say({"EVALSHA", digest, "1", "stock", "v1", "2000", "no"}, status("OK"));
  say({"EVALSHA", digest, "1", "stock", "v1", "2000", "no"}, kNil);
  say({"EVAL", kCompareAndDelete, "1", "stock", "v1"}, integer(1));
  EXPECT_EQ(story(), "acquire? acquire+ renew? renew+ renew? renew+ release? release+");
  EXPECT_EQ(watcher_->unread(), 0u);
}

TEST_F(WatcherMessages, AroundASidekiqJobADeleteIsNoRelease) {
  watcher_.emplace(recorder_, *find_recogniser("sidekiq-lock"));
  say({"SET", "job", "v1", "PX", "2000", "NX"}, status("OK"));
  say({"DEL", "job"}, integer(1));
  say({"SET", "job", "v2", "EX", "2", "NX"}, kNil);
  EXPECT_EQ(story(), "acquire? acquire+ acquire?");
  say({"EVAL", kCompareAndDelete, "1", "job", "v1"}, integer(0));
  EXPECT_EQ(story(), "acquire? acquire+ acquire? release? release-");
}

}  // namespace
}  // namespace holdfast::sim
