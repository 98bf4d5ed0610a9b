// Shrinking: what is left out, what waits for what then, which decisions stay, and that it ends the same way
// each time.
#include "sim/hunt/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/hunt/case_file.h"
#include "sim/hunt/shrink_candidates.h"
#include "sim/hunt/shrink_decisions.h"
#include "sim/hunt/shrink_late.h"
#include "sim/hunt/shrink_triggers.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr const char* kHead = R"(schema = 1
name = "case"
[run]
seeds = "1"
[lock]
kind  = "setnx-expire"
lease = "1s"
[workload]
kind    = "critical-section"
clients = 3
rounds  = 2
hold    = "10ms"
)";

Value document(const std::string& rest) { return parse_toml(kHead + rest, "case.toml"); }

const Value* with_one_fault(const Candidates& candidates, const std::string& id, std::size_t& found) {
  const Value* only = nullptr;
  for (const Candidate& candidate : candidates) {
    const Value* const faults = candidate.document.find("fault");
    if (faults == nullptr || faults->items.size() != 1 || faults->items[0].find("id")->text != id) continue;
    only = &faults->items[0];
    ++found;
  }
  return only;
}

TEST(ShrinkCandidates, WhoWaitedForAFaultThatIsGoneWaitsForWhatItWaitedFor) {
  const Value whole = document(R"(
[[fault]]
id = "first"
kind = "cut"
between = ["c1", "r1"]
after = { event = "lock.granted", nth = 2, delay = "30ms" }
[[fault]]
id = "second"
kind = "pause-client"
client = "c2"
after = { fault = "first", delay = "1s" }
for = "1s"
during = "first"
)");
  std::size_t found = 0;
  const Candidates candidates = fewer_faults(whole);
  const Value* const second = with_one_fault(candidates, "second", found);
  ASSERT_EQ(found, 1u);
  const Value* const after = second->find("after");
  EXPECT_EQ(after->find("event")->text, "lock.granted");
  EXPECT_EQ(after->find("nth")->integer, 2);
  EXPECT_EQ(after->find("delay")->text, "1030ms");
  EXPECT_EQ(second->find("during"), nullptr);
  EXPECT_NE(with_one_fault(candidates, "first", found), nullptr);
}

TEST(ShrinkCandidates, ClientsThatFaultsNameStayAmongThoseThatAreLeft) {
  Value whole = document(R"(
[[fault]]
id = "p"
kind = "pause-client"
client = "c9"
after = { event = "lock.granted", client = "c4" }
for = "1s"
)");
  set_key(section_of(whole, "workload"), "clients", integer_value(12));
  for (const Candidate& candidate : fewer_clients(whole)) {
    const std::int64_t clients = candidate.document.find("workload")->find("clients")->integer;
    const Value& fault = candidate.document.find("fault")->items[0];
    if (clients == 2) {
      EXPECT_EQ(fault.find("client")->text, "c2");
      EXPECT_EQ(fault.find("after")->find("client")->text, "c1");
      EXPECT_EQ(candidate.renamed.at("c9"), "c2");
    }
    parse_base(
        [&] {
          Value runs = candidate.document;
          Value check;
          set_key(check, "check", text_value("progress"));
          set_key(runs, "expect", list_value({check}));
          return runs;
        }(),
        "small");  // throws if a fault names somebody who is not there
  }
}

TEST(ShrinkCandidates, PlainIdsSayWhatAFaultDoesWhereverItIsNamed) {
  const Candidate plain = with_plain_ids(document(R"(
[[fault]]
id = "f1"
kind = "cut"
between = ["c1", "r1"]
at = "1s"
[[fault]]
id = "f7"
kind = "cut"
between = ["c2", "r1"]
after = { fault = "f1" }
)"));
  const std::vector<Value>& faults = plain.document.find("fault")->items;
  EXPECT_EQ(faults[0].find("id")->text, "cut");
  EXPECT_EQ(faults[1].find("id")->text, "cut-2");
  EXPECT_EQ(faults[1].find("after")->find("fault")->text, "cut");
}

TEST(ShrinkTriggers, ATimeBecomesTheEventsAboutIt) {
  HuntCase one{.document = document(R"(
[[fault]]
id = "p"
kind = "pause-client"
client = "c1"
at = "15ms"
for = "1s"
[[expect]]
check = "progress"
)")};
  EXPECT_EQ(faults_at_times(one.document), 1u);
  bool first_grant = false;
  for (const Candidate& candidate : event_triggers(one)) {
    const Value& fault = candidate.document.find("fault")->items[0];
    const Value* const after = fault.find("after");
    if (after == nullptr || after->find("event") == nullptr) continue;
    EXPECT_EQ(fault.find("at"), nullptr);
    EXPECT_EQ(faults_at_times(candidate.document), 0u);
    first_grant = first_grant || (after->find("event")->text == "lock.granted" &&
                                  after->find("delay") == nullptr && after->find("nth")->integer == 1);
  }
  EXPECT_TRUE(first_grant);
}

TEST(ShrinkTriggers, ACommandThatWasSentTakesThePlaceOfADelayAndItsClientThatOfAny) {
  const HuntCase one{.document = document(R"(
[[fault]]
id = "r"
kind = "reset-before-request"
after = { event = "lock.granted", delay = "3ms" }
[[expect]]
check = "progress"
)")};
  bool expire = false, of_event = false;
  for (const Candidate& candidate : event_triggers(one)) {
    const Value& fault = candidate.document.find("fault")->items[0];
    if (const Value* const command = fault.find("after")->find("message")) {
      EXPECT_NE(command->text, "EVAL") << "this lock sends none";
      expire = expire || command->text == "EXPIRE";
    }
    const Value* const client = fault.find("client");
    of_event = of_event || (client != nullptr && client->text == kEventClient);
  }
  EXPECT_TRUE(expire);
  EXPECT_TRUE(of_event);
}

std::string text_at(const Value& table, const char* key) {
  const Value* const value = table.find(key);
  return value == nullptr ? "" : value->text;
}

TEST(ShrinkLate, ALateMachineIsLateInAllThatSomebodyWaitsFor) {
  const Value late = on_late_machine(document(R"(
[[fault]]
id = "r"
kind = "restart"
node = "r1"
at = "1s"
[[fault]]
id = "p"
kind = "pause-client"
client = "c1"
after = { fault = "r", delay = "2ms" }
for = "20ms"
)"),
                                     {.message = std::chrono::milliseconds(5),
                                      .wait = std::chrono::milliseconds(30),
                                      .start = std::chrono::milliseconds(60)});
  EXPECT_EQ(text_at(*late.find("network"), "latency"), "0s..5ms");
  EXPECT_EQ(text_at(*late.find("workload"), "start"), "0s..5ms");
  EXPECT_EQ(text_at(*late.find("workload"), "hold"), "10ms..40ms");
  EXPECT_EQ(text_at(*late.find("lock"), "lease"), "1s") << "a server keeps it";
  const std::vector<Value>& faults = late.find("fault")->items;
  EXPECT_EQ(text_at(faults[0], "kind"), "crash") << "a restart takes its time";
  EXPECT_EQ(text_at(faults[0], "for"), "1ms..91ms");
  EXPECT_EQ(text_at(faults[0], "at"), "1s..1030ms");
  EXPECT_EQ(text_at(*faults[1].find("after"), "delay"), "2ms..32ms");
  EXPECT_EQ(text_at(faults[1], "for"), "20ms..50ms");
}

// A failure that needs one hold to last for so long, among hundreds of draws.
TEST(ShrinkDecisions, TheOneThatMattersIsLeft) {
  HuntCase one{.document = document("[[expect]]\ncheck = \"progress\"\n"), .seed = 5};
  set_key(section_of(one.document, "workload"), "hold", text_value("1ms..900ms"));
  one.changes.reseeds = {{.at_ns = 0, .seed = 77}};
  constexpr std::uint64_t kLongest = 400'000'000;
  std::uint64_t drawn = 0;
  const auto long_hold = [&](const HuntCase& some) {
    Decisions decisions(some.changes, /*keep=*/true);
    try_case(some, {.decisions = &decisions});
    const std::vector<Drawn>& holds = decisions.drawn().at("client/c2/0/work");
    drawn = std::max<std::uint64_t>(drawn, decisions.drawn().size());
    return !holds.empty() && holds[0].value >= kLongest;
  };
  HuntCase other = one;
  other.changes = {};
  while (long_hold(other) && other.seed < 100) ++other.seed;  // the seed alone does not show it
  one.seed = other.seed;
  while (!long_hold(one) && one.changes.reseeds[0].seed < 200) ++one.changes.reseeds[0].seed;
  std::uint64_t runs = 0;
  const auto changes = few_decisions(
      one,
      [&](const HuntCase& some) {
        ++runs;
        return long_hold(some);
      },
      [] { return false; });
  ASSERT_TRUE(changes);
  EXPECT_EQ(count_of(*changes), 1u) << to_text({.seed = one.seed, .changes = *changes});
  EXPECT_TRUE(changes->reseeds.empty());
  const std::uint64_t value = changes->fixed.at("client/c2/0/work").at(0);
  EXPECT_GE(value, kLongest);
  EXPECT_LT(value, kLongest + kLongest / 8) << "about the least that shows it";
  EXPECT_GT(drawn, 5u) << "streams";
  EXPECT_LT(runs, 200u);
}

TEST(ShrinkDecisions, NothingIsLeftWhereTheSeedShowsIt) {
  const HuntCase one{.document = document("[[expect]]\ncheck = \"progress\"\n"), .seed = 5};
  const auto changes = few_decisions(
      one, [](const HuntCase&) { return true; }, [] { return false; });
  ASSERT_TRUE(changes);
  EXPECT_TRUE(changes->empty());
  EXPECT_FALSE(few_decisions(
      one, [](const HuntCase&) { return false; }, [] { return false; }));
}

// The first holder works for longer than its lease and removes its successor's record; everything else here
// is beside the point.
HuntCase padded() {
  return {.document = document(R"(threads = 2
think = "0s..40ms"
readers = "0%"
[network]
latency = "200us..3ms"
[[fault]]
id = "a"
kind = "pause-client"
client = "c3"
every = "700ms..900ms"
for = "20ms"
[[fault]]
id = "b"
kind = "delay"
between = ["c2", "r1"]
delay = "1ms..20ms"
after = { fault = "a", delay = "40ms" }
for = "3s"
[[fault]]
id = "c"
kind = "pause-client"
client = "c1"
at = "30ms"
for = "1730ms"
[[expect]]
check = "lease-exclusion"
[[expect]]
check = "no-foreign-release"
)")};
}

TEST(Shrink, LeavesWhatMattersAndIsTheSameEachTime) {
  const Ground on = ground_of(*find_lock_kind("setnx-expire"));
  const std::string promise = "no-foreign-release/foreign-removal";
  HuntCase one = padded();
  for (one.seed = 1; !try_case(one).shows(promise); ++one.seed) ASSERT_LT(one.seed, 50u);
  const Shrunk shrunk = shrink(on, one, promise);
  const Size size = size_of(shrunk.one.document);
  EXPECT_LE(size.faults, 1u) << to_toml(shrunk.one.document);
  EXPECT_LE(size.tasks, 2u);
  EXPECT_LE(size.operations, 4u);
  EXPECT_EQ(shrunk.seeds_of_20, kSeedsThatShow);
  EXPECT_EQ(faults_at_times(shrunk.one.document), 0u) << to_toml(shrunk.one.document);
  EXPECT_LT(shrunk.runs, 1'500u);
  const Shrunk again = shrink(on, one, promise);
  EXPECT_TRUE(same(again.one.document, shrunk.one.document));
  EXPECT_EQ(again.runs, shrunk.runs);
}

// The next holder comes in the last 0.4 ms of a hold: on every seed, and hardly ever on real servers.
TEST(Shrink, GivesTimeToWhatLivesOnPartsOfAMillisecond) {
  const Ground on = ground_of(*find_lock_kind("setnx-expire"));
  HuntCase one{.document = document(R"(
[[fault]]
id = "restart"
kind = "restart"
node = "r1"
after = { event = "lock.granted" }
[[expect]]
check = "no-foreign-release"
)")};
  Value& workload = section_of(one.document, "workload");
  set_key(workload, "clients", integer_value(2));
  set_key(workload, "rounds", integer_value(1));
  set_key(workload, "hold", text_value("100ms"));
  const std::string promise = "no-foreign-release/foreign-removal";
  ASSERT_TRUE(try_case(one).shows(promise));
  const auto late_seeds = [&](const Value& of) {
    unsigned shown = 0;
    for (std::uint64_t seed = 1; seed <= kSeedsThatShow; ++seed) {
      const Value there = on_late_machine(of, kLateMachines[0]);
      shown += try_case({.document = there, .seed = seed}).shows(promise) ? 1 : 0;
    }
    return shown;
  };
  EXPECT_LE(late_seeds(one.document), 10u);
  const Shrunk shrunk = shrink(on, one, promise);
  EXPECT_EQ(shrunk.seeds_of_20, kSeedsThatShow) << to_toml(shrunk.one.document);
  EXPECT_GE(shrunk.late_of_20, 18u) << to_toml(shrunk.one.document);
  EXPECT_GE(late_seeds(shrunk.one.document), shrunk.late_of_20);
}

TEST(Shrink, CostsNoMoreThanItMay) {
  const Ground on = ground_of(*find_lock_kind("setnx-expire"));
  const std::string promise = "no-foreign-release/foreign-removal";
  HuntCase one = padded();
  for (one.seed = 1; !try_case(one).shows(promise); ++one.seed) ASSERT_LT(one.seed, 50u);
  const Shrunk shrunk = shrink(on, one, promise, {.runs = 60});
  EXPECT_LT(shrunk.runs, 2 * 60u + 5 * kSeedsThatShow);
  EXPECT_TRUE(try_case(shrunk.one).shows(promise)) << to_toml(shrunk.one.document);
}

TEST(ShrinkCandidates, MoreWorkIsMoreRoundsAndThenOfThreeClients) {
  std::vector<std::pair<std::int64_t, std::int64_t>> tried;
  Value few = document("");
  set_key(section_of(few, "workload"), "clients", integer_value(2));
  for (const Candidate& candidate : more_work(few)) {
    const Value& workload = *candidate.document.find("workload");
    tried.emplace_back(workload.find("rounds")->integer, workload.find("clients")->integer);
  }
  EXPECT_EQ(tried, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                       {8, 2}, {8, 3}, {16, 2}, {16, 3}, {32, 2}, {32, 3}, {64, 2}, {64, 3}}));
  EXPECT_EQ(more_work(document("")).size(), 4u) << "there are three clients already";
}

// As a person would have written it.
TEST(CaseFile, SaysWhatHappensAndWhatActed) {
  const Ground on = ground_of(*find_lock_kind("setnx-expire"));
  Shrunk shrunk{.one = {.document = document(R"(
[[fault]]
id = "pause-client"
kind = "pause-client"
client = "$client"
after = { event = "lock.granted", nth = 1 }
for = "2s"
[[expect]]
check = "no-foreign-release"
)")},
                .runs = 1,
                .seeds_of_20 = kSeedsThatShow};
  set_key(section_of(shrunk.one.document, "workload"), "hold", text_value("600ms"));
  const Trial trial = try_case(shrunk.one);
  ASSERT_EQ(trial.failures.size(), 1u);
  const CaseFile file = case_file(on, shrunk, trial.failures.front(), "The story.");
  for (const char* const said : {"\"What is sent for one acquisition removes the record of another: "
                                 "pause-client of the client\"",
                                 "marks = [\"fault.pause-client\"]", "\"without-pause-client\""})
    EXPECT_NE(file.toml.find(said), std::string::npos) << said << "\n" << file.toml;
  EXPECT_TRUE(file.decisions.empty());
}

// Who takes it to real servers learns before whether that is worth while.
TEST(CaseFile, SaysWhetherItIsOneForRealServers) {
  const Ground on = ground_of(*find_lock_kind("setnx-expire"));
  Failure failure{.check = "progress", .kind = "stall", .shape = "", .why = ""};
  const auto says = [&](const Shrunk& shrunk, const std::string& what) {
    CaseFile file = case_file(on, shrunk, failure, "The story.\n\nThe end.");
    add_comment(file, "The last line.");
    EXPECT_NE(file.toml.find(what), std::string::npos) << what << "\n" << file.toml;
    EXPECT_NE(file.toml.find("\n# The last line.\nschema = 1"), std::string::npos) << file.toml;
    parse_toml(file.toml, "case.toml");
  };
  Shrunk shrunk{
      .one = {.document = document("[[expect]]\ncheck = \"progress\"\n")}, .runs = 9, .seeds_of_20 = 20};
  shrunk.late_of_20 = 20;
  says(shrunk, "on real servers: --world real");
  failure.check = "truth";
  says(shrunk, "`truth` looks into its servers");
  failure.check = "progress";
  shrunk.late_of_20 = 7;
  says(shrunk, "it shows on 7 of\n# 20 seeds");
  shrunk.seeds_of_20 = 4;
  says(shrunk, "it shows by chance");
  shrunk.one.changes.reseeds = {{.at_ns = 1, .seed = 2}};
  says(shrunk, "real servers decide for themselves");
}

}  // namespace
}  // namespace holdfast::sim
