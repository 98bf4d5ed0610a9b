// Single runs in which locks, ledger and keyspaces once did not agree, though nobody was wrong but the
// comparison; and what the decoders of shared records and of numbers find.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "checker/checks/truth.h"
#include "sim/client/lock_kind.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"
#include "sim/truth/decoders.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::History;

struct Story {
  std::string cluster = "topology = \"single\"\n";
  std::string lock, workload, faults = {};
};

RunResult play(const Story& story, const LockKind* own = nullptr) {
  const std::string text = fmt::format(R"(schema = 1
name   = "told"
about  = "A run that is told in full"
[run]
seeds = "1"
time  = "30s"
[cluster]
{}[lock]
{}[workload]
kind = "critical-section"
{}[network]
latency = "200us..2ms"
{}[[expect]]
check = "truth"
[[expect]]
check = "reached"
marks = ["lock.granted"]
)",
                                       story.cluster, story.lock, story.workload, story.faults);
  Scenario scenario = parse_scenarios(text, "told.toml").front();
  if (own != nullptr) scenario.lock = scenario.workload.own_lock = own;
  return run_once(scenario, {.seed = 1, .keep_history = true});
}

checker::Truth compare(const History& history, bool reentrant = false) {
  checker::CheckContext context;
  context.reentrant = reentrant;
  return checker::compare_with_truth(history, context);
}

std::string told(const checker::Truth& truth) {
  std::string text = fmt::format("{} claims, {} stood, {} by fault, {} by others\n", truth.claims,
                                 truth.stood, truth.by_fault, truth.by_others);
  for (const checker::Witness& witness : truth.wrong) text += witness.kind + ": " + witness.why + "\n";
  return text;
}
bool found(const checker::Truth& truth, std::string_view kind) {
  for (const checker::Witness& witness : truth.wrong) {
    if (witness.kind == kind) return true;
  }
  return false;
}

bool is_record(const History& history, const Event& event) {
  return event.f == Function::other && history.text(event.error) == checker::kRecord;
}

// `change` says of each event of a record whether it stays, and may change it: a decoder that is wrong.
History decoded_otherwise(const History& history, const std::function<bool(Event& event)>& change) {
  History otherwise = history.names();
  for (Event event : history.events()) {
    if (!is_record(history, event) || change(event)) otherwise.append(event);
  }
  return otherwise;
}

// The same lock with another ledger.
LockKind with_ledger(std::string_view kind, decltype(LockKind::read_effects) read_effects) {
  LockKind changed = *find_lock_kind(kind);
  changed.read_effects = read_effects;
  return changed;
}

// --- every lock -----------------------------------------------------------------------------------------

TEST(TruthRuns, EveryLockHasADecoderAndNoLatchHas) {
  for (const LockKind& kind : all_lock_kinds()) {
    EXPECT_EQ(find_decoder(kind.name) == nullptr, kind.latch) << kind.name;
    EXPECT_EQ(kind.read_effects == nullptr, kind.latch) << kind.name << ": a lock without a ledger";
  }
}

// Nothing goes wrong: each record stands, and the ledger names whatever put it there and took it away.
TEST(TruthRuns, WhereNothingGoesWrongEachRecordStands) {
  for (const LockKind& kind : all_lock_kinds()) {
    if (kind.latch || kind.name == "lock-interface-reentrant") continue;
    const RunResult run =
        play({.cluster = kind.quorum ? "topology = \"independent\"\nnodes = [\"r1\", \"r2\", \"r3\"]\n"
                                     : "topology = \"single\"\n",
              // A survivor grants nothing at first, for as long as a lease.
              .lock = fmt::format("kind = \"{}\"\nlease = \"{}\"\n{}", kind.name,
                                  kind.survives_failover ? "5s" : "30s",
                                  kind.counts_permits ? "permits = 2\n" : ""),
              .workload = "clients = 2\nthreads = 2\nrounds = 3\nhold = \"5ms..20ms\"\n"});
    const checker::Truth truth = compare(run.history, kind.reentrant);
    EXPECT_TRUE(truth.all_stood()) << kind.name << ": " << told(truth);
    EXPECT_GT(truth.claims, 6U) << kind.name;
  }
}

// --- records that do not tell one thread of a process from that of another -------------------------------

const Story kThreads{.lock = "kind = \"lock-interface-reentrant\"\nlease = \"10s\"\n",
                     .workload = "clients = 1\nthreads = 3\nrounds = 4\nhold = \"5ms..20ms\"\n"};

TEST(TruthRuns, ARecordOfAThreadStandsForThatThread) {
  const RunResult run = play(kThreads);
  const checker::Truth truth = compare(run.history, true);
  EXPECT_TRUE(truth.all_stood()) << told(truth);
  EXPECT_EQ(truth.claims, 12U);
}

// Thread 1 of the other process walks in: one record stands for both, and so nothing follows from it.
TEST(TruthRuns, ARecordOfTwoThreadsIsSaidToBeShared) {
  const RunResult run = play(
      {.lock = kThreads.lock, .workload = "clients = 2\nthreads = 1\nrounds = 4\nhold = \"50ms..90ms\"\n"});
  const checker::Truth truth = compare(run.history, true);
  EXPECT_GT(truth.shared, 0U) << told(truth);
  EXPECT_FALSE(truth.all_stood());
  for (const checker::Witness& witness : truth.wrong) {  // what one removes the other misses
    EXPECT_TRUE(witness.kind == "no-record" || witness.kind.starts_with("record-")) << told(truth);
  }
}

TEST(TruthRuns, AWrongDecoderOfThreadsIsFound) {
  const RunResult run = play(kThreads);
  int number = 0;
  const History missed =
      decoded_otherwise(run.history, [&](const Event& event) { return event.value == 0 || ++number != 2; });
  EXPECT_TRUE(found(compare(missed, true), "ledger-wrong")) << told(compare(missed, true));
  History other = run.history.names();
  const checker::Symbol ninth = other.intern("thread 9 at stock:42");
  other = decoded_otherwise(run.history, [&](Event& event) {
    if (run.history.text(event.id).starts_with("thread 2")) event.id = ninth;
    return true;
  });
  EXPECT_TRUE(found(compare(other, true), "no-record")) << told(compare(other, true));
}

// --- records that are numbers ---------------------------------------------------------------------------

const Story kPermits{.lock = "kind = \"redisson-3.13-semaphore\"\nlease = \"10s\"\npermits = 2\n",
                     .workload = "clients = 3\nthreads = 1\nrounds = 4\nhold = \"5ms..20ms\"\n"};

TEST(TruthRuns, WhatIsClaimedIsNotCountedAsFree) {
  const RunResult run = play(kPermits);
  const checker::Truth truth = compare(run.history);
  EXPECT_TRUE(truth.all_stood()) << told(truth);
  EXPECT_EQ(truth.claims, 12U);
}

TEST(TruthRuns, AWrongDecoderOfPermitsIsFound) {
  const RunResult run = play(kPermits);
  const History always_free = decoded_otherwise(run.history, [](Event& event) {
    event.permits = 2;
    return true;
  });
  EXPECT_TRUE(found(compare(always_free), "no-record")) << told(compare(always_free));
  EXPECT_TRUE(found(compare(always_free), "ledger-wrong")) << told(compare(always_free));
  int number = 0;
  const History too_many = decoded_otherwise(run.history, [&](Event& event) {
    if (++number == 4) ++event.permits;
    return true;
  });
  EXPECT_FALSE(compare(too_many).wrong.empty());
}

TEST(TruthRuns, AWrongLedgerOfPermitsIsFound) {
  static const auto honest = find_lock_kind("redisson-3.13-semaphore")->read_effects;
  using Effects = std::vector<StoreEffect>;
  using Command = std::vector<std::string_view>;
  const LockKind forgets =
      with_ledger("redisson-3.13-semaphore", [](const Command& command, const redis::Reply& reply) {
        Effects effects = honest(command, reply);
        std::erase_if(effects, [](const StoreEffect& effect) { return effect.f == Function::store_remove; });
        return effects;
      });
  const LockKind boasts =
      with_ledger("redisson-3.13-semaphore", [](const Command& command, const redis::Reply& reply) {
        Effects effects = honest(command, reply);
        for (StoreEffect& effect : effects) effect.took_effect = true;
        return effects;
      });
  const LockKind misses =
      with_ledger("redisson-3.13-semaphore", [](const Command& command, const redis::Reply& reply) {
        Effects effects = honest(command, reply);
        for (StoreEffect& effect : effects) ++effect.permits;
        return effects;
      });
  EXPECT_TRUE(found(compare(play(kPermits, &forgets).history), "unnamed-removal"));
  EXPECT_TRUE(found(compare(play(kPermits, &boasts).history), "ledger-wrong"));
  EXPECT_TRUE(found(compare(play(kPermits, &misses).history), "unnamed-grant"));
}

// A release whose answer is lost (the third: the server knows the script by then) is sent again, and gives
// back two: the permit of somebody else.
TEST(TruthRuns, APermitThatWasGivenBackTwiceWasTakenByOthers) {
  const RunResult run = play({.lock = "kind = \"redisson-3.13-semaphore\"\nlease = \"20s\"\npermits = 1\n",
                              .workload = "clients = 3\nrounds = 3\nhold = \"1800ms..1900ms\"\n",
                              .faults = R"([[fault]]
id      = "lost"
kind    = "reset-after-request"
command = "EVALSHA"
client  = "$client"
after   = { event = "lock.releasing", nth = 3 }
)"});
  const checker::Truth truth = compare(run.history);
  EXPECT_TRUE(truth.wrong.empty()) << told(truth);
  EXPECT_GT(truth.by_others, 0U) << told(truth);
}

// --- what was mended once ------------------------------------------------------------------------------

// An unlock that is answered in the same way whether it removed anything or not is in the ledger as well.
TEST(TruthRuns, UnlocksWhoseAnswerSaysNothingAreInTheLedger) {
  for (const char* kind : {"redisson-3.13-fair", "redisson-3.13-fair-as-described",
                           "redisson-3.13-read-write", "redisson-wait-connected"}) {
    const RunResult run = play({.lock = fmt::format("kind = \"{}\"\nlease = \"10s\"\n", kind),
                                .workload = "clients = 2\nrounds = 3\nhold = \"5ms..20ms\"\n"});
    int open = 0;
    for (const Event& event : run.history.events()) {
      open += event.f == Function::store_remove && event.type == checker::EventType::info ? 1 : 0;
    }
    EXPECT_EQ(open, 6) << kind;
    EXPECT_TRUE(compare(run.history, true).wrong.empty()) << kind << told(compare(run.history, true));
  }
}

// The record of a registry is its process', and each of its threads claims it in turn.
TEST(TruthRuns, TheRecordOfARegistryIsItsProcess) {
  const RunResult run = play({.lock = "kind = \"spring-registry\"\nlease = \"10s\"\n",
                              .workload = "clients = 2\nthreads = 2\nrounds = 3\nhold = \"5ms..20ms\"\n"});
  const checker::Truth truth = compare(run.history, true);
  EXPECT_TRUE(truth.all_stood()) << told(truth);
  EXPECT_EQ(truth.claims, 12U);
}

// The disk has the record as it was a second ago. What was renewed since is lost by the power, not by a lock.
TEST(TruthRuns, APowerLossMayBringBackARecordWithoutItsRenewals) {
  const RunResult run = play({.cluster = "topology = \"single\"\npersistence = \"aof-everysec\"\n",
                              .lock = "kind = \"reentrant\"\nlease = \"3s\"\n",
                              .workload = "clients = 1\nrounds = 1\nhold = \"9s\"\n",
                              .faults = R"([[fault]]
id     = "sleep"
kind   = "pause-client"
client = "c1"
at     = "3400ms"
for    = "4s"
[[fault]]
id     = "power"
kind   = "power-loss"
node   = "r1"
at     = "3500ms"
for    = "10ms"
)"});
  const checker::Truth truth = compare(run.history, true);
  EXPECT_TRUE(truth.wrong.empty()) << told(truth);
  EXPECT_EQ(truth.by_fault, 1U) << told(truth);
}

// A server that had forgotten the script is asked once more, and the lock was released meanwhile: the vote is
// the old acquisition's, however late it comes.
TEST(TruthRuns, AVoteAfterTheReleaseIsOfItsOwnAcquisition) {
  const Scenario scenario = parse_scenarios(R"(schema = 1
name  = "late-votes"
about = "A majority votes, and the lock is released before the rest has"
[run]
seeds = "1..300"
order = "chains"
[cluster]
topology = "independent"
nodes    = ["r1", "r2", "r3", "r4", "r5"]
[lock]
kind  = "redlock"
lease = "1s"
[workload]
kind    = "critical-section"
clients = 1
rounds  = 1
[network]
latency = "200us"
[[expect]]
check = "truth"
)",
                                            "late-votes.toml")
                                .front();
  int late = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RunResult run = run_once(scenario, {.seed = seed, .keep_history = true});
    const checker::Truth truth = compare(run.history, true);
    ASSERT_TRUE(truth.wrong.empty()) << "seed " << seed << "\n" << told(truth);
    bool released = false;
    for (const Event& event : run.history.events()) {
      released = released || (event.f == Function::release && event.type == EventType::ok);
      late += released && is_record(run.history, event) && event.value == checker::Value(1) ? 1 : 0;
    }
  }
  EXPECT_GT(late, 0);
}

// The locks of a pair lie on two nodes of a Redis Cluster, and each renewal is told of the node that has it.
TEST(TruthRuns, ARenewalIsToldOfTheNodeThatHasTheLock) {
  const RunResult run =
      play({.cluster = "topology = \"cluster\"\nnodes = [\"r1\", \"r2\", \"r3\", \"r4\", \"r5\", \"r6\"]\n",
            .lock = "kind = \"multi\"\nlease = \"2s\"\n",
            .workload = "clients = 1\nrounds = 1\nhold = \"3s\"\n"});
  const checker::Truth truth = compare(run.history, true);
  EXPECT_TRUE(truth.wrong.empty()) << told(truth);
  EXPECT_GT(truth.claims, 0U);
}

// Names beside a key with a brace, but without a hash tag of its own, have one that is searched for.
TEST(TruthRuns, RecordsBesideAKeyWithAStrayBraceAreFound) {
  for (const char* const lock : {"read-write", "semaphore", "permit-semaphore"}) {
    for (const char* const key : {"}{", "{}", "a}b", "{stock}:1", "stock:{1}"}) {
      const RunResult run =
          play({.lock = std::string("kind = \"") + lock + "\"\nlease = \"2s\"\n",
                .workload = std::string("key = \"") + key + "\"\nclients = 2\nrounds = 2\nhold = \"5ms\"\n"});
      const checker::Truth truth = compare(run.history, true);
      EXPECT_TRUE(truth.wrong.empty()) << lock << " " << key << "\n" << told(truth);
      EXPECT_GT(truth.claims, 0U);
    }
  }
}

// The first lock of a pair is taken on r1, the second on r2: the claim is that of the first.
TEST(TruthRuns, TheRecordOfAPairIsSoughtWhereItsFirstLockIs) {
  const RunResult run = play({.cluster = "topology = \"primary-replica\"\nnodes = [\"r1\", \"r2\"]\n",
                              .lock = "kind = \"multi\"\nlease = \"2s\"\n",
                              .workload = "clients = 1\nrounds = 1\nhold = \"300ms\"\n",
                              .faults = R"([[fault]]
id   = "lag"
kind = "replication-lag"
node = "r2"
at   = "0s"
for  = "10s"
[[fault]]
id    = "kill"
kind  = "crash"
node  = "r1"
after = { message = "SET", client = "c1", phase = "request", nth = 2 }
[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { fault = "kill", delay = "10ms" }
)"});
  const checker::Truth truth = compare(run.history, true);
  EXPECT_TRUE(truth.wrong.empty()) << told(truth);
  EXPECT_EQ(truth.by_fault, 1U) << told(truth);
}

}  // namespace
}  // namespace holdfast::sim
