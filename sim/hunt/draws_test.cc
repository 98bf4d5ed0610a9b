// What a file leaves open is drawn: of each part, all that a lock may meet.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/hunt/corpus.h"
#include "sim/hunt/draw_case.h"
#include "sim/hunt/ground.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr int kCases = 600;

Ground ground(const char* lock) { return ground_of(*find_lock_kind(lock)); }

// How many cases have each key, as "cluster.settings.hz"; of those below `[[fault]]` once a case.
class Drawn {
 public:
  explicit Drawn(const char* lock) {
    const Ground on = ground(lock);
    for (int number = 0; number < kCases; ++number) {
      const Value document = draw_case(on, Rng::derive(21, lock + std::to_string(number)));
      seen_.clear();
      walk(document, "");
      for (const std::string& one : seen_) ++cases_[one];
    }
  }
  int with(const std::string& path) const {
    const auto found = cases_.find(path);
    return found == cases_.end() ? 0 : found->second;
  }

 private:
  void walk(const Value& value, const std::string& path) {
    seen_.insert(path);
    if (value.kind == Value::Kind::text) seen_.insert(path + "=" + value.text);
    for (const Member& member : value.members)
      walk(member.value, path.empty() ? member.key : path + "." + member.key);
    for (const Value& item : value.items) walk(item, path);
  }

  std::set<std::string> seen_;
  std::map<std::string, int> cases_;
};

TEST(Draws, AFarClientSettingsKeysAndOptions) {
  const Drawn drawn("reentrant");
  for (const char* const path :
       {"network.client.latency", "cluster.settings.min-replicas-to-write",
        "cluster.settings.repl-backlog-size=16kb", "cluster.settings.busy-reply-threshold", "workload.key=}{",
        "workload.key={stock}:1", "workload.own_keys", "workload.twin_keys", "lock.max_renewals",
        "lock.replica_timeout", "run.order=instant"}) {
    EXPECT_GT(drawn.with(path), 0) << path;
    EXPECT_LT(drawn.with(path), kCases / 4) << path << ": most cases are plain";
  }
}

// A lock on one primary bears no failover: Sentinels and a Cluster are there, and make nobody a primary.
TEST(Draws, WhoBearsNoFailoverMeetsQuietSentinelsAndClusters) {
  for (const char* const lock : {"reentrant", "semaphore", "count-down-latch", "multi"}) {
    const Drawn drawn(lock);
    EXPECT_GT(drawn.with("cluster.topology=sentinel"), 0) << lock;
    EXPECT_EQ(drawn.with("cluster.topology=sentinel"), drawn.with("cluster.down_after=10m")) << lock;
    EXPECT_GT(drawn.with("cluster.topology=cluster"), 0) << lock;
    EXPECT_EQ(drawn.with("cluster.topology=cluster"), drawn.with("cluster.node_timeout=10m")) << lock;
  }
  const Drawn published("lock-interface");
  EXPECT_GT(published.with("cluster.topology=sentinel"), 0);
  EXPECT_EQ(published.with("cluster.down_after"), 0);
}

// An event that never happens never triggers anything: a latch has events of its own.
TEST(Draws, FaultsWaitForEventsThatHappen) {
  const Drawn latch("count-down-latch"), lock("reentrant"), survivor("survivor");
  for (const char* const event : {"latch.set", "latch.counted", "latch.waiting", "latch.opened"}) {
    EXPECT_GT(latch.with(std::string("fault.after.event=") + event), 0) << event;
    EXPECT_EQ(lock.with(std::string("fault.after.event=") + event), 0) << event;
  }
  EXPECT_EQ(latch.with("fault.after.event=lock.granted"), 0);
  for (const char* const event : {"lock.granted", "lock.renew-failed", "read", "write", "client.crashed"})
    EXPECT_GT(lock.with(std::string("fault.after.event=") + event), 0) << event;
  EXPECT_GT(survivor.with("fault.after.event=node.promoted"), 0);
  EXPECT_EQ(lock.with("fault.after.event=node.promoted"), 0) << "nobody is promoted";
}

// Between the two commands of a design that ought to be one.
TEST(Draws, FaultsWaitForTheSecondCommandOfAPublishedDesign) {
  const Drawn published("setnx-expire"), ours("reentrant");
  for (const char* const command : {"SETNX", "EXPIRE", "PEXPIRE", "UNLINK", "INCR"}) {
    EXPECT_GT(published.with(std::string("fault.after.message=") + command), 0) << command;
    EXPECT_EQ(ours.with(std::string("fault.after.message=") + command), 0) << command;
  }
}

// Of independent servers only: of others it may be the primary that stays full, and no Sentinel minds.
TEST(Draws, AMinorityStaysBroken) {
  EXPECT_GT(Drawn("redlock").with("run.stay_broken"), 0);
  EXPECT_EQ(Drawn("survivor").with("run.stay_broken"), 0);
  EXPECT_EQ(Drawn("reentrant").with("run.stay_broken"), 0) << "there is no other server";
}

// Who survives failovers has to go on, and to leave nothing behind, where nobody's role changes for good.
TEST(Draws, WhoSurvivesIsAskedForProgressWhereRolesAreKept) {
  int asked = 0, not_asked = 0;
  for (int number = 0; number < kCases; ++number) {
    const Value document = draw_case(ground("survivor"), Rng::derive(23, std::to_string(number)));
    bool changes = false, progress = false;
    if (const Value* const faults = document.find("fault")) {
      for (const Value& fault : faults->items) {
        const std::string& kind = fault.find("kind")->text;
        changes = changes || kind == "promote" || kind == "demote" || kind == "failover";
      }
    }
    for (const Value& one : document.find("expect")->items)
      progress = progress || one.find("check")->text == "progress";
    EXPECT_EQ(progress, !changes) << to_toml(document);
    ++(progress ? asked : not_asked);
  }
  EXPECT_GT(asked, kCases / 10);
  EXPECT_GT(not_asked, kCases / 10);
}

// The far one is as slow as a lease allows, and its calls can be answered.
TEST(Draws, AFarClientKeepsItsLease) {
  for (int number = 0; number < kCases; ++number) {
    const Scenario scenario =
        parse_base(draw_case(ground("reentrant"), Rng::derive(22, std::to_string(number))), "drawn");
    for (const auto& [client, latency] : scenario.far_clients) {
      EXPECT_LE(12 * latency.high, scenario.workload.lease) << client;
      EXPECT_GE(scenario.workload.command_timeout, 2 * latency.high) << client;
    }
  }
}

TEST(Draws, SomeCasesAreCrowds) {
  const Ground on = ground("reentrant");
  int crowds = 0, own = 0;
  for (int number = 0; number < 400; ++number) {
    const Value drawn = draw_case(on, Rng::derive(13, std::to_string(number)));
    const Value& workload = *drawn.find("workload");
    if (workload.find("threads")->integer < 10) continue;
    ++crowds;
    EXPECT_EQ(workload.find("rounds")->integer, 1);
    own += workload.find("own_keys") != nullptr ? 1 : 0;
  }
  EXPECT_GT(own, 0);
  EXPECT_LT(own, crowds);
  EXPECT_LT(crowds, 40);
}

// A survivor is asked for progress where nothing changes roles for good, also where a case was made of one.
TEST(HuntDraws, AChangedCaseIsAskedWhatItsOwnFaultsAllow) {
  const Ground on = ground("survivor");
  const auto expects = [](const Value& document, const std::string& check) {
    const Value* const all = document.find("expect");
    return std::any_of(all->items.begin(), all->items.end(),
                       [&](const Value& one) { return one.find("check")->text == check; });
  };
  const auto changes_roles = [](const Value& document) {
    const Value* const faults = document.find("fault");
    return faults != nullptr && std::any_of(faults->items.begin(), faults->items.end(), [](const Value& one) {
             const std::string& kind = one.find("kind")->text;
             return kind == "promote" || kind == "demote" || kind == "failover";
           });
  };
  std::vector<CorpusEntry> entries;
  for (int i = 0; i < 40; ++i)
    entries.push_back(
        {.one = {.document = draw_case(on, Rng::derive(23, std::to_string(i)))}, .moment_ns = 0});
  std::vector<bool> before;
  for (const CorpusEntry& entry : entries) before.push_back(changes_roles(entry.one.document));
  const Corpus corpus(on, 1, std::move(entries));
  int gained = 0, lost = 0;
  for (std::uint64_t number = 0; number < 600; ++number) {
    const Derived derived = corpus.derive(number);
    const Value& document = derived.one.document;
    const bool now = changes_roles(document);
    EXPECT_NE(now, expects(document, "progress")) << to_toml(document);
    EXPECT_NE(now, expects(document, "at-rest")) << to_toml(document);
    if (!derived.parent) continue;
    gained += now && !before[*derived.parent] ? 1 : 0;
    lost += !now && before[*derived.parent] ? 1 : 0;
  }
  EXPECT_GT(gained, 5);
  EXPECT_GT(lost, 5);
}

}  // namespace
}  // namespace holdfast::sim
