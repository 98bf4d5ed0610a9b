// WAIT 1 holds a connection on a server without replicas for as long as it says: so calls come while another
// one is under way, on every port.
#include "lib/lock/store/group_commit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/redis/error.h"
#include "lib/testing/failing_spawns.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::Error;
using testing::FailingSpawns;
using testing::Fixture;
using testing::Where;

struct Scene {
  explicit Scene(Fixture& stand)
      : fixture(stand),
        runtime(stand.runtime),
        straight(stand.runtime, stand.network, stand.options()),
        client(runtime, stand.network, stand.options()),
        group(client, redis::Lane::replicas) {}

  // INCR `key`, WAIT for one replica, GET `key`.
  std::vector<redis::Answer> count(const std::string& key, Duration timeout) {
    return count(key, timeout, in(60s));
  }
  std::vector<redis::Answer> count(const std::string& key, Duration timeout,
                                   const redis::CallOptions& options) {
    const std::array<GroupCommit::Command, 1> before{{{"INCR", key}}}, after{{{"GET", key}}};
    return group.call({.before = before, .wait = {1, timeout}, .after = after}, options);
  }
  // The error that it ends with.
  Error fails(const std::string& key, Duration timeout, const redis::CallOptions& options) {
    try {
      count(key, timeout, options);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "it was answered";
    return Error(Error::Kind::protocol, "", "", "", false, "");
  }
  redis::CallOptions in(Duration time) const { return {.deadline = fixture.runtime.now() + time}; }
  Task spawn(std::function<void()> body) { return fixture.runtime.spawn("client", std::move(body)); }
  // Somebody whose call lasts for `timeout`, and is executed by the server now.
  Task begin(Duration timeout) {
    Task first = spawn([this, timeout] { count("first", timeout); });
    while (!exists("first")) fixture.runtime.sleep_for(1ms);
    return first;
  }
  // In virtual time it is known who comes before what.
  bool exact() const { return fixture.where == Where::embedded; }
  bool exists(const std::string& key) { return straight.call({"EXISTS", key}).reply.integer == 1; }

  Fixture& fixture;
  FailingSpawns runtime;
  redis::Client straight, client;
  GroupCommit group;
};

class GroupCommitTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Scene&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      Scene scene(fixture);
      body(scene);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, GroupCommitTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(GroupCommitTest, OneCallIsAnsweredInItsOrder) {
  run([](Scene& scene) {
    for (int i = 1; i <= 3; ++i) {
      const std::vector<redis::Answer> answers = scene.count("k", 1ms);
      ASSERT_EQ(answers.size(), 3u);
      EXPECT_EQ(answers[0].reply.integer, i);
      EXPECT_EQ(answers[1].reply.integer, 0) << "nobody acknowledges";
      EXPECT_EQ(answers[2].reply.text, std::to_string(i));
      EXPECT_EQ(answers[0].node, "r1");
    }
    EXPECT_EQ(scene.client.statistics().commands, 9u);
  });
}

TEST_P(GroupCommitTest, CallsThatComeMeanwhileShareOneWait) {
  run([](Scene& scene) {
    constexpr int kTasks = 16;
    Task first = scene.begin(1s);
    std::set<std::int64_t> numbers;
    Mutex mutex(scene.fixture.runtime);
    std::vector<Task> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(scene.spawn([&] {
        const std::vector<redis::Answer> answers = scene.count("k", 100ms);
        ASSERT_EQ(answers.size(), 3u);
        if (scene.exact()) {
          EXPECT_EQ(answers[2].reply.text, std::to_string(kTasks)) << "it is read behind the WAIT of all";
        }
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(numbers.insert(answers[0].reply.integer).second) << "somebody else's answer";
      }));
    }
    tasks.clear();
    first.join();
    EXPECT_EQ(numbers.size(), std::size_t{kTasks});
    EXPECT_LT(scene.client.statistics().commands, 3u + kTasks * 3);
    if (scene.exact()) {
      EXPECT_EQ(scene.client.statistics().commands, 3u + kTasks * 2 + 1);
    }
  });
}

TEST_P(GroupCommitTest, AnswersGoToThoseWhoAsked) {
  run([](Scene& scene) {
    constexpr int kTasks = 8, kCalls = 50;
    std::vector<Task> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(scene.spawn([&scene, key = "k" + std::to_string(i)] {
        const std::string second = key + "b";
        for (int n = 1; n <= kCalls; ++n) {
          const std::array<GroupCommit::Command, 2> before{{{"INCR", key}, {"INCR", second}}};
          const std::array<GroupCommit::Command, 1> after{{{"GET", key}}};
          // Nobody is waited for; every other call brings less.
          const std::vector<redis::Answer> answers =
              n % 2 == 0
                  ? scene.group.call({.before = before, .wait = {0, 1ms}, .after = after}, scene.in(60s))
                  : scene.group.call({.before = std::span(before).first(1), .wait = {0, 2ms}}, scene.in(60s));
          ASSERT_EQ(answers.size(), n % 2 == 0 ? 4u : 2u);
          EXPECT_EQ(answers[0].reply.integer, n);
          if (n % 2 != 0) continue;
          EXPECT_EQ(answers[1].reply.integer, n / 2);
          EXPECT_EQ(answers[3].reply.text, std::to_string(n));
        }
      }));
    }
  });
}

TEST_P(GroupCommitTest, AQuestionThatAllAskGoesOutOnceBehindAllOfThem) {
  run([](Scene& scene) {
    constexpr int kTasks = 8;
    Task first = scene.begin(1s);
    std::vector<Task> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(scene.spawn([&scene, other = i % 4 == 0] {
        const std::array<GroupCommit::Command, 1> before{{{"INCR", "k"}}};
        const std::vector<redis::Answer> answers = scene.group.call(
            {.before = before, .shared = {other ? "STRLEN" : "GET", "k"}, .wait = {1, 100ms}}, scene.in(60s));
        ASSERT_EQ(answers.size(), 3u);
        if (!scene.exact()) return;
        EXPECT_EQ(answers[1].reply.text, other ? "" : std::to_string(kTasks));
        EXPECT_EQ(answers[1].reply.integer, other ? 1 : 0);
      }));
    }
    tasks.clear();
    first.join();
    if (scene.exact()) {
      EXPECT_EQ(scene.client.statistics().commands, 3u + kTasks + 2 + 1);
    }
  });
}

// A WAIT for one replica lasts, one for none does not: in one group all would last.
TEST_P(GroupCommitTest, WhoWaitsForFewerIsNotHeldUpByTheSameWait) {
  run([](Scene& scene) {
    Task first = scene.begin(1s);
    std::vector<Task> tasks;
    for (const std::size_t replicas : {1, 0, 1, 0}) {
      tasks.push_back(scene.spawn([&scene, replicas] {
        const std::array<GroupCommit::Command, 1> before{{{"INCR", "k"}}};
        scene.group.call({.before = before, .wait = {replicas, 100ms}}, scene.in(60s));
      }));
    }
    tasks.clear();
    first.join();
    if (scene.exact()) {
      EXPECT_EQ(scene.client.statistics().commands, 3u + 4 + 2);
    }
  });
}

TEST_P(GroupCommitTest, ACallWhoseTurnComesTooLateIsNotSent) {
  run([](Scene& scene) {
    Task first = scene.begin(3s);
    const Error late = scene.fails("late", 1ms, scene.in(50ms));
    EXPECT_EQ(late.kind(), Error::Kind::timed_out);
    EXPECT_FALSE(late.may_have_executed());
    EXPECT_NE(std::string(late.what()).find("waited for replicas"), std::string::npos) << late.what();
    first.join();
    EXPECT_EQ(scene.count("next", 1ms).size(), 3u);
    EXPECT_FALSE(scene.exists("late"));
  });
}

TEST_P(GroupCommitTest, BehindACallThatFailsTheNextOnesGoOut) {
  run([](Scene& scene) {
    Task first = scene.spawn([&] {
      const Error late = scene.fails("first", 2s, scene.in(500ms));
      EXPECT_TRUE(late.may_have_executed());
    });
    while (!scene.exists("first")) scene.fixture.runtime.sleep_for(1ms);
    Task second = scene.spawn([&] { EXPECT_EQ(scene.count("second", 1ms)[2].reply.text, "1"); });
    Task third = scene.spawn([&] { EXPECT_EQ(scene.count("third", 1ms)[2].reply.text, "1"); });
    second.join();
    third.join();
    first.join();
    EXPECT_EQ(scene.count("fourth", 1ms)[2].reply.text, "1");
  });
}

// A group fails as its one call to the server does.
TEST_P(GroupCommitTest, AllOfAGroupLearnWhyItFailed) {
  run([](Scene& scene) {
    Task first = scene.begin(1s);
    std::vector<Task> tasks;
    for (int i = 0; i < 3; ++i) {
      tasks.push_back(scene.spawn([&] {
        const Error failed = scene.fails("k", 60s, scene.in(60s));
        EXPECT_EQ(failed.kind(), Error::Kind::disconnected) << failed.what();
        EXPECT_TRUE(failed.may_have_executed());
      }));
    }
    first.join();
    while (!scene.exists("k")) scene.fixture.runtime.sleep_for(1ms);
    const auto waits = [](const Task& task) { return !task.finished(); };
    while (std::any_of(tasks.begin(), tasks.end(), waits)) {
      scene.straight.call({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
      scene.fixture.runtime.sleep_for(20ms);
    }
    tasks.clear();
    EXPECT_EQ(scene.count("next", 1ms)[2].reply.text, "1");
  });
}

TEST_P(GroupCommitTest, AStopRequestEndsTheWaitInLine) {
  run([](Scene& scene) {
    Task first = scene.begin(3s);
    std::stop_source stop;
    Task stopped = scene.spawn([&] {
      redis::CallOptions options = scene.in(60s);
      options.stop = stop.get_token();
      const Error error = scene.fails("stopped", 1ms, options);
      EXPECT_EQ(error.kind(), Error::Kind::interrupted);
      EXPECT_NE(std::string(error.what()).find("stopped"), std::string::npos) << error.what();
      EXPECT_FALSE(error.may_have_executed());
    });
    scene.fixture.runtime.sleep_for(5ms);
    stop.request_stop();
    stopped.join();
    first.join();
    EXPECT_EQ(scene.count("next", 1ms).size(), 3u);
    EXPECT_FALSE(scene.exists("stopped"));
  });
}

TEST_P(GroupCommitTest, OfOneClientThereIsOne) {
  run([](Scene& scene) {
    const std::shared_ptr<GroupCommit> one = GroupCommit::of(scene.client);
    EXPECT_EQ(GroupCommit::of(scene.client), one);
    EXPECT_NE(GroupCommit::of(scene.straight), one);
    std::weak_ptr<GroupCommit> ended;
    {
      redis::Client another(scene.runtime, scene.fixture.network, scene.fixture.options());
      ended = GroupCommit::of(another);
      EXPECT_TRUE(ended.expired()) << "nobody uses it";
      ended = GroupCommit::of(another);
    }
    EXPECT_TRUE(ended.expired());
  });
}

// Where the process has no threads left.
TEST_P(GroupCommitTest, WithoutATaskAllGoOutOneByOne) {
  run([](Scene& scene) {
    Task first = scene.begin(1s);
    scene.runtime.fail_next(1, "acknowledger");
    std::vector<Task> tasks;
    for (int i = 0; i < 4; ++i) tasks.push_back(scene.spawn([&] { scene.count("k", 1ms); }));
    tasks.clear();
    first.join();
    EXPECT_EQ(scene.straight.call({"GET", "k"}).reply.text, "4");
    if (scene.exact()) {
      EXPECT_EQ(scene.client.statistics().commands, 5u * 3);
    }
  });
}

// --- in virtual time -------------------------------------------------------------------------------------

void embedded(const std::function<void(Scene&)>& body) {
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    Scene scene(fixture);
    body(scene);
  });
}

TEST(GroupCommitEmbedded, WhoLeavesAGroupMayHaveBeenExecutedAndTheOthersAreAnswered) {
  embedded([](Scene& scene) {
    Task first = scene.begin(1s);
    Task leaves = scene.spawn([&] {
      const Error error = scene.fails("leaves", 1s, scene.in(4s));
      EXPECT_EQ(error.kind(), Error::Kind::timed_out);
      EXPECT_TRUE(error.may_have_executed());
    });
    scene.fixture.runtime.sleep_for(1ms);
    Task patient = scene.spawn([&] { EXPECT_EQ(scene.count("patient", 8s)[2].reply.text, "1"); });
    leaves.join();
    EXPECT_TRUE(scene.exists("leaves"));
    patient.join();
    first.join();
  });
}

// A second is what a call lasts here: of those who have less left none is sent, so that who comes next is in
// time.
TEST(GroupCommitEmbedded, WhoCannotBeAnsweredInTimeDoesNotTakeTheTimeOfOthers) {
  embedded([](Scene& scene) {
    Task first = scene.begin(1s);
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) {
      tasks.push_back(scene.spawn([&] {
        const Error late = scene.fails("late", 1s, scene.in(1500ms));
        EXPECT_EQ(late.kind(), Error::Kind::timed_out);
        EXPECT_FALSE(late.may_have_executed());
      }));
    }
    first.join();
    const MonotonicTime now = scene.fixture.runtime.now();
    EXPECT_EQ(scene.count("k", 1s, scene.in(1100ms)).size(), 3u);
    EXPECT_LT(scene.fixture.runtime.now() - now, 1100ms);
    EXPECT_FALSE(scene.exists("late"));
  });
}

// Each has time enough for a call of its own, and half of it when its turn comes: who would be late again is
// told so at once, and asks with all its time.
TEST(GroupCommitEmbedded, WhatWasNotAnsweredIsKnownToTakeLonger) {
  embedded([](Scene& scene) {
    const MonotonicTime start = scene.fixture.runtime.now();
    const auto late = [&](Duration within) { return scene.fails("late", 140ms, scene.in(within)); };
    Task first = scene.spawn([&] { EXPECT_TRUE(late(120ms).may_have_executed()); });
    Task second = scene.spawn([&] { EXPECT_TRUE(late(250ms).may_have_executed()); });
    Task third = scene.spawn([&] {
      scene.fixture.runtime.sleep_for(130ms);  // the second one is under way
      EXPECT_FALSE(late(245ms).may_have_executed());
      EXPECT_EQ(scene.fixture.runtime.now() - start, 250ms);
      EXPECT_EQ(scene.count("k", 140ms).size(), 3u);
    });
  });
}

TEST(GroupCommitEmbedded, AGroupIsNoLargerThanTheClientAllows) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::ClientOptions options = fixture.options();
    options.max_pending = 16;  // two calls of four commands at most, and as many again
    redis::Client client(fixture.runtime, fixture.network, options);
    GroupCommit group(client, redis::Lane::replicas);
    std::vector<Task> tasks;
    for (int i = 0; i < 9; ++i) {
      tasks.push_back(fixture.runtime.spawn("client", [&] {
        const std::array<GroupCommit::Command, 2> before{{{"INCR", "k"}, {"INCR", "k"}}};
        group.call({.before = before, .wait = {1, 100ms}}, {.deadline = fixture.runtime.now() + 60s});
      }));
    }
    tasks.clear();
    // Alone, and then two at a time.
    EXPECT_EQ(client.statistics().commands, 9u * 2 + 1 + 4);
  });
}

}  // namespace
}  // namespace holdfast
