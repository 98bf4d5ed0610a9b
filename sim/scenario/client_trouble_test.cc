// Faults that meet a client itself, as a scenario plays them on both kinds of servers: a reply without an
// end, no threads left, a fork, and the way to the server.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/testing/server/temporary_folder.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

class ClientTrouble : public ::testing::TestWithParam<bool> {
 protected:
  // One run of seed 1; `more`: of the workload, and tables after it.
  static RunResult play(const std::string& lock, const std::string& more) {
    const TemporaryFolder folder;
    const std::string text =
        "schema = 1\nname = \"trouble\"\n[run]\nseeds = \"1\"\ntime = \"60s\"\nshare = \"40%\"\n[lock]\nkind "
        "= \"" +
        lock + "\"\nlease = \"900ms\"\n[workload]\nkind = \"critical-section\"\n" + more +
        "\n[[expect]]\ncheck = \"mutual-exclusion\"\n[[expect]]\ncheck = \"lease-exclusion\"\n"
        "[[expect]]\ncheck = \"progress\"\n[[expect]]\ncheck = \"share\"\n";
    return run_once(parse_scenarios(text, "trouble.toml").front(),
                    {.embedded = GetParam(), .seed = 1, .folder = folder.path(), .keep_history = true});
  }
  static void expect_sound(const RunResult& run) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(run.verdicts[i].outcome, checker::Outcome::holds)
          << run.questions.asked[i].check << ": " << run.verdicts[i].reason;
    }
    EXPECT_FALSE(run.capped);
  }
  static bool reached(const RunResult& run, std::string_view mark) {
    return std::any_of(run.history.events().begin(), run.history.events().end(), [&](const Event& event) {
      return event.f == Function::mark && run.history.text(event.key) == mark;
    });
  }
  static std::map<std::string, int> grants(const RunResult& run) {  // by client
    std::map<std::string, int> all;
    for (const Event& event : run.history.events()) {
      if (event.f != Function::acquire || event.type != EventType::ok) continue;
      const std::string process(run.history.text(event.process));
      ++all[process.substr(0, process.find('/'))];
    }
    return all;
  }
  // What acquires of that client ended with, errors only.
  static std::string errors(const RunResult& run, const std::string& client,
                            Function of = Function::acquire) {
    std::string all;
    for (const Event& event : run.history.events()) {
      if (event.f != of || event.type == EventType::ok || event.type == EventType::invoke) continue;
      if (run.history.text(event.process).starts_with(client + "/"))
        all += std::string(run.history.text(event.error)) + "\n";
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, ClientTrouble, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

// --- a reply without an end -------------------------------------------------------------------------------

// A client that is only ever answered so ends each call in its time, and works when it is over.
TEST_P(ClientTrouble, ACallEndsThoughItsReplyDoesNot) {
  const std::map<std::string, std::string> told = {{"array", "more than 65536 items"},
                                                   {"bulk", "ClientOptions::max_reply"},
                                                   {"drip", "no reply by the deadline"}};
  for (const auto& [shape, limit] : told) {
    const RunResult run = play("reentrant", R"(clients = 2
rounds = 40
hold = "5ms..10ms"
command_timeout = "200ms"
[[fault]]
id = "stream"
kind = "streaming-server"
client = "c1"
count = 0
shape = ")" + shape + R"("
at = "100ms"
for = "700ms"
)");
    expect_sound(run);
    EXPECT_TRUE(reached(run, "fault.stream")) << shape;
    EXPECT_EQ(grants(run)["c2"], 40) << shape << " is not what c2 was told";
    EXPECT_GT(grants(run)["c1"], 20) << shape;
    EXPECT_NE(errors(run, "c1").find(limit), std::string::npos) << shape << ": " << errors(run, "c1");
    std::int64_t asked_ns = 0, longest_ns = 0;
    for (const Event& event : run.history.events()) {
      if (event.f != Function::acquire || !run.history.text(event.process).starts_with("c1/")) continue;
      if (event.type == EventType::invoke) asked_ns = event.time_ns;
      if (event.type == EventType::fail || event.type == EventType::info)
        longest_ns = std::max(longest_ns, event.time_ns - asked_ns);
    }
    EXPECT_LT(longest_ns, 700'000'000) << shape << ": a call took longer than what streamed";
  }
}

TEST_P(ClientTrouble, OneReplyIsMetAndLaterOnesPass) {
  const RunResult run = play("reentrant", R"(clients = 1
rounds = 5
[[fault]]
id = "stream"
kind = "streaming-server"
command = "EVALSHA"
nth = 3
at = "0s"
for = "10s"
)");
  expect_sound(run);
  EXPECT_TRUE(reached(run, "fault.stream"));
  EXPECT_GE(grants(run)["c1"], 4);
}

// --- no threads left --------------------------------------------------------------------------------------

// It is cut off until the limit is there: a nemesis that is late finds it without a watchdog, too.
TEST_P(ClientTrouble, WithoutThreadsNobodyHoldsALockThatIsNotWatched) {
  const RunResult run = play("reentrant", R"(clients = 2
rounds = 150
hold = "10ms..20ms"
[[fault]]
id = "anew"
kind = "crash"
client = "c1"
at = "100ms"
for = "20ms"
[[fault]]
id = "not-yet"
kind = "partition"
between = "c1"
and = "r1"
at = "90ms"
for = "500ms"
[[fault]]
id = "no-threads"
kind = "thread-limit"
client = "c1"
role = "watchdog"
after = { fault = "anew", delay = "21ms" }
for = "2s"
)");
  expect_sound(run);
  EXPECT_TRUE(reached(run, "fault.no-threads"));
  EXPECT_NE(errors(run, "c1").find("it was given back"), std::string::npos) << errors(run, "c1");
  EXPECT_EQ(errors(run, "c2"), "");
  EXPECT_GT(grants(run)["c1"], 10) << "its tasks start again";
}

// Who is refused listens, on a task of the client's.
TEST_P(ClientTrouble, AWaitThatNeedsAThreadIsTold) {
  std::string faults;
  for (const std::string client : {"c1", "c2"}) {
    faults += "[[fault]]\nid = \"" + client + "\"\nkind = \"thread-limit\"\nclient = \"" + client +
              "\"\nrole = \"subscription\"\nafter = { event = \"client.started\" }\nfor = \"300ms\"\n";
  }
  const RunResult run =
      play("spring-registry-7-pub-sub", "clients = 2\nrounds = 5\nhold = \"20ms\"\n" + faults);
  EXPECT_TRUE(reached(run, "fault.c1") || reached(run, "fault.c2"));
  const std::string told = errors(run, "c1") + errors(run, "c2");
  EXPECT_NE(told.find("no task could be started that listens"), std::string::npos) << told;
}

// An interrupted unlock() of the registry leaves the removal to a thread that there is not.
TEST_P(ClientTrouble, AReleaseThatNeedsAThreadIsTold) {
  const RunResult run = play("spring-registry", R"(clients = 2
rounds = 5
interrupts = "100%"
[[fault]]
id = "no-threads"
kind = "thread-limit"
client = "c1"
role = "executor"
after = { event = "lock.granted", nth = 1 }
for = "2s"
)");
  EXPECT_TRUE(reached(run, "fault.no-threads"));
  EXPECT_NE(errors(run, "c1", Function::release).find("unavailable"), std::string::npos)
      << errors(run, "c1", Function::release);
}

// This design starts its renewals with the program, before anybody asks for a lock.
TEST(ClientTroubleEmbedded, AProgramThatCannotStartItsTasksIsStartedAgain) {
  const Scenario scenario = parse_scenarios(R"(schema = 1
name = "trouble"
[run]
seeds = "1"
[lock]
kind = "annotation-renewing"
lease = "2s"
[workload]
kind = "critical-section"
clients = 2
rounds = 20
hold = "10ms..20ms"
[[fault]]
id = "no-threads"
kind = "thread-limit"
client = "c1"
role = "watchdog"
after = { event = "client.started", client = "c1" }
for = "500ms"
[[expect]]
check = "progress"
)",
                                            "trouble.toml")
                                .front();
  int met = 0;  // the limit comes before the program's first task, or after it
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult run = run_once(scenario, {.seed = seed, .keep_history = true});
    const auto& events = run.history.events();
    met += std::any_of(events.begin(), events.end(), [&](const Event& event) {
      return event.f == Function::mark && run.history.text(event.key) == "fault.no-threads";
    });
    EXPECT_EQ(run.grants, 40u) << "they do all of their rounds when they can, seed " << seed;
  }
  EXPECT_GT(met, 0);
}

TEST_P(ClientTrouble, AThreadLimitThatNobodyMeetsIsNotReached) {
  const RunResult run = play("reentrant", R"(clients = 2
rounds = 5
[[fault]]
id = "no-threads"
kind = "thread-limit"
client = "c1"
role = "chauffeur"
after = { event = "lock.granted", nth = 1 }
for = "1s"
)");
  expect_sound(run);
  EXPECT_FALSE(reached(run, "fault.no-threads"));
}

// --- a fork -----------------------------------------------------------------------------------------------

TEST_P(ClientTrouble, ChildrenWorkButNotWithWhatTheyInherited) {
  const RunResult run = play("reentrant", R"(clients = 2
rounds = 20
hold = "5ms..10ms"
[[fault]]
id = "one"
kind = "fork-client"
client = "c1"
after = { event = "lock.granted", client = "c1", nth = 3 }

[[fault]]
id = "two"
kind = "fork-client"
client = "c1"
after = { event = "lock.granted", client = "c1", nth = 3 }
)");
  expect_sound(run);
  EXPECT_TRUE(reached(run, "fault.one"));
  EXPECT_TRUE(reached(run, "fault.two"));
  auto all = grants(run);
  for (const char* client : {"c1", "c2", "c1-child-1", "c1-child-2"}) EXPECT_EQ(all[client], 20) << client;
  for (const char* child : {"c1-child-1", "c1-child-2"})
    EXPECT_NE(errors(run, child).find("in the child"), std::string::npos) << errors(run, child);
  // Each process has owners of its own, though they had one random state.
  std::map<std::string, std::set<std::string>> clients_of;
  for (const Event& event : run.history.events()) {
    if (event.f != Function::acquire || event.type != EventType::ok) continue;
    const std::string process(run.history.text(event.process));
    clients_of[std::string(run.history.text(event.owner))].insert(process.substr(0, process.find('/')));
  }
  for (const auto& [owner, clients] : clients_of) EXPECT_EQ(clients.size(), 1U) << owner;
}

// A published design that tries again with what it inherited, while its parent has ended but for that: the
// parent's tasks must not meet what is gone.
TEST_P(ClientTrouble, AParentEndsWhenItsChildrenAreDoneWithWhatTheyInherited) {
  const RunResult run = play("redlock-cpp", R"(clients = 1
rounds = 1
[cluster]
topology = "independent"
nodes = ["r1", "r2", "r3"]
[[fault]]
id = "one"
kind = "fork-client"
client = "c1"
after = { event = "lock.granted", client = "c1", nth = 1 }
)");
  EXPECT_EQ(run.verdicts[2].outcome, checker::Outcome::holds) << run.verdicts[2].reason;
  auto all = grants(run);
  for (const char* client : {"c1", "c1-child-1"}) EXPECT_EQ(all[client], 1) << client;
}

// --- the way to the server --------------------------------------------------------------------------------

std::string far(const std::string& clients, const std::string& latency) {
  return "clients = 3\nrounds = 12\nhold = \"20ms\"\n[network]\nlatency = "
         "\"1ms\"\n[[network.client]]\nclients = " +
         clients + "\nlatency = \"" + latency + "\"\n";
}

TEST_P(ClientTrouble, AFarClientIsFarAndOthersAreNear) {
  const RunResult run = play("fair", far("\"c1\"", "60ms"));
  expect_sound(run);
  std::map<std::string, std::int64_t> asked_ns, released_ns,
      fastest_ns;  // release: one command and its answer
  for (const Event& event : run.history.events()) {
    if (event.f != Function::release) continue;
    const std::string process(run.history.text(event.process));
    const std::string client = process.substr(0, process.find('/'));
    if (event.type == EventType::invoke) {
      asked_ns[process] = event.time_ns;
    } else {
      const std::int64_t took_ns = event.time_ns - asked_ns[process];
      const auto known = fastest_ns.try_emplace(client, took_ns).first;
      known->second = std::min(known->second, took_ns);
    }
  }
  EXPECT_GE(fastest_ns["c1"], 120'000'000);
  EXPECT_LT(fastest_ns["c2"], 60'000'000);
  EXPECT_LT(fastest_ns["c3"], 60'000'000);
}

std::string complaint(const std::string& more) {
  try {
    parse_scenarios(
        "schema = 1\nname = \"far\"\n[lock]\nkind = \"fair\"\n[workload]\nkind = \"critical-section\"\n" +
            more + "[[expect]]\ncheck = \"progress\"\n",
        "far.toml");
  } catch (const BadScenario& problem) {
    return problem.what();
  }
  return "";
}

TEST(ClientTroubleFile, WhatIsWrongIsToldWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {far("\"c4\"", "60ms"), "far.toml:13:11: `clients` names `c4`, expected `c1`, `c2` or `c3`"},
      {far("[\"c1\", \"c1\"]", "60ms"), "far.toml:13:11: client `c1` twice"},
      {far("\"c1\"", "soon"), "far.toml:14:11: `latency` is \"soon\""},
      {"[[network.client]]\nlatency = \"1ms\"\n", "`clients`"},
      {"[network]\nclient = \"c1\"\n", "expected a list of tables: [[network.client]]"},
      {"[[fault]]\nid = \"a\"\nkind = \"thread-limit\"\nclient = \"c1\"\nat = \"1s\"\n", "`for`"},
      {"[[fault]]\nid = \"a\"\nkind = \"thread-limit\"\nat = \"1s\"\nfor = \"1s\"\n", "has no `client`"},
      {"[[fault]]\nid = \"a\"\nkind = \"streaming-server\"\nshape = \"list\"\nat = \"1s\"\nfor = \"1s\"\n",
       "`shape` is \"list\""},
      {"[[fault]]\nid = \"a\"\nkind = \"busy-script\"\nnode = \"r1\"\nthreshold = \"1500us\"\nat = "
       "\"1s\"\nfor = "
       "\"1s\"\n",
       "a `threshold` of whole milliseconds"},
      {"[[fault]]\nid = \"a\"\nkind = \"loading\"\nnode = \"r1\"\nat = \"1s\"\n", "`for`"},
  };
  for (const auto& [text, told] : cases) {
    EXPECT_NE(complaint(text).find(told), std::string::npos) << complaint(text) << "\nof\n" << text;
    EXPECT_TRUE(complaint(text).starts_with("far.toml:")) << complaint(text);
  }
  EXPECT_EQ(complaint(far("[\"c1\", \"c3\"]", "1ms..5ms")), "");
}

}  // namespace
}  // namespace holdfast::sim
