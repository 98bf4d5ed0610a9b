// `holdfast bench --compare`: a planted slower result is caught, the same one is not, and what was not
// compared is said.
#include "tools/bench/compare.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "tools/bench/bench.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

using Says = ComparedRow::Says;

// Pairs and p99 of some locks, drawn about a middle; `speed`: of each, by its number.
BenchResult drawn(
    std::uint64_t seed, std::size_t locks, std::size_t rounds,
    const std::function<double(std::size_t)>& speed = [](std::size_t) { return 1.0; }) {
  std::mt19937_64 random(seed);
  BenchResult result;
  result.started = "2026-01-01T00:00:00Z";
  result.complete = true;
  result.machine = {{"cpu", "a"}, {"load_before", std::to_string(seed)}};
  result.seeds = {};
  for (std::size_t i = 0; i < locks; ++i) {
    Measurement& m =
        result.at("uncontended", i == 0 ? "reentrant" : "lock " + std::to_string(i),
                  i == 0 ? "real/fibers" : "real/peer", {{"clients", "50"}, {"connections", "shared"}});
    for (std::size_t round = 0; round < rounds; ++round) {
      std::normal_distribution<double> noise(0, 0.03);
      m.add("pairs", 1000 * speed(i) * std::exp(noise(random)));
      m.add("p99", 500 / speed(i) * std::exp(noise(random)));
    }
  }
  return result;
}

Comparison compared(const BenchResult& before, const BenchResult& now) {
  return compare(measured(before, "old.json"), measured(now, "new.json"), "old.json", "new.json");
}

TEST(Compare, APlantedSlowerLockIsCaughtAndNoOther) {
  const auto slower = [](std::size_t i) { return i == 3 ? 0.75 : 1.0; };
  const Comparison comparison = compared(drawn(1, 8, 5), drawn(2, 8, 5, slower));
  ASSERT_EQ(comparison.rows.size(), 16u);
  for (const ComparedRow& row : comparison.rows) {
    if (row.subject != "lock 3") {
      EXPECT_EQ(row.says, Says::none) << row.subject << " " << row.metric.name << " " << row.words;
      continue;
    }
    EXPECT_EQ(row.says, Says::worse) << row.words;
    EXPECT_TRUE(row.words.starts_with("slower by ")) << row.words;
    const double truth = row.metric.name == "pairs" ? 0.75 : 1 / 0.75;
    EXPECT_LT(row.interval.low, truth);
    EXPECT_GT(row.interval.high, truth);
  }
  EXPECT_EQ(comparison.code(), kFailed);
  const Comparison back = compared(drawn(2, 8, 5, slower), drawn(1, 8, 5));
  EXPECT_EQ(back.count(Says::better), 2u);
  EXPECT_EQ(back.code(), kMet);
}

// A hundred results of the same locks: one in twenty may say something, not more.
TEST(Compare, TheSameLocksAreNotSaidToDiffer) {
  std::size_t said = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    said += compared(drawn(2 * seed, 60, 3), drawn(2 * seed + 1, 60, 3)).code() == kMet ? 0 : 1;
  EXPECT_LE(said, 10u);
  EXPECT_EQ(compared(drawn(7, 60, 3), drawn(7, 60, 3)).count(Says::none), 120u);
}

// Of what is said, most is true, however many rows there are.
TEST(Compare, MostOfWhatIsSaidIsTrue) {
  std::size_t truly = 0, falsely = 0;
  const auto some = [](std::size_t i) { return i % 4 == 1 ? 0.8 : 1.0; };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const ComparedRow& row : compared(drawn(2 * seed, 60, 5), drawn(2 * seed + 1, 60, 5, some)).rows) {
      if (row.says == Says::none) continue;
      const bool planted = row.subject != "reentrant" && std::stoul(row.subject.substr(5)) % 4 == 1;
      ++(planted && row.says == Says::worse ? truly : falsely);
    }
  }
  EXPECT_GT(truly, 540u);  // of 600
  EXPECT_LE(falsely, (truly + falsely) / 12);
}

TEST(Compare, WhatCannotBeComparedIsSaid) {
  const Comparison once = compared(drawn(1, 2, 1), drawn(2, 2, 1));
  EXPECT_EQ(once.code(), kUnknown);
  EXPECT_EQ(once.rows.front().words,
            "cannot be compared: old.json has one round, which scatters from nothing");
  BenchResult summary = drawn(1, 2, 3);
  for (Measurement& m : summary.measurements) {
    for (auto& [name, metric] : m.metrics) {
      metric.summary = {3, metric.mean(), metric.median(), metric.low(), metric.high()};
      metric.rounds.clear();
    }
  }
  EXPECT_EQ(compared(drawn(2, 2, 3), summary).rows.front().words,
            "cannot be compared: new.json has no rounds, only a summary");
  BenchResult none = drawn(1, 0, 1);
  EXPECT_EQ(compared(none, none).code(), kUnknown);
}

TEST(Compare, RowsOfOneSideAndOtherMachinesAreNamed) {
  BenchResult now = drawn(2, 3, 3);
  now.measurements.back().subject = "new one";
  now.machine["cpu"] = "b";
  now.quick = true;
  const Comparison comparison = compared(drawn(1, 3, 3), now);
  EXPECT_EQ(comparison.only_before,
            std::vector<std::string>{"uncontended: lock 2, real/peer, clients 50, connections shared"});
  EXPECT_EQ(comparison.only_now,
            std::vector<std::string>{"uncontended: new one, real/peer, clients 50, connections shared"});
  EXPECT_EQ(comparison.unlike, (std::vector<std::string>{"cpu: a; now b", "quick: no; now yes"}));
  const std::string text = comparison_report(comparison, {});
  EXPECT_NE(text.find("only in old.json: uncontended: lock 2"), std::string::npos) << text;
  EXPECT_NE(text.find("not alike: cpu: a; now b"), std::string::npos) << text;
}

TEST(Compare, AReferenceThatChangedIsTheMachine) {
  const auto result = [](double speed) {
    BenchResult result;
    Measurement& m = result.at("uncontended", "redis-benchmark", "real/fibers",
                               {{"clients", "50"}, {"connections", "shared"}});
    for (const double noise : {0.99, 1.0, 1.01}) m.add("pairs", 1000 * speed * noise);
    return result;
  };
  const std::string text = comparison_report(compared(result(1), result(0.5)), {});
  EXPECT_NE(text.find("no lock has a part in it"), std::string::npos) << text;
  EXPECT_EQ(comparison_report(compared(result(1), result(1)), {}).find("no lock has a part in it"),
            std::string::npos);
}

TEST(Compare, OneRunInSimulatedTimeIsExact) {
  const auto result = [](double pairs) {
    BenchResult result;
    result
        .at("contended", "fair", "embedded", {{"clients", "50"}, {"hold_ms", "1"}, {"processes", "one each"}})
        .add("pairs", pairs);
    return result;
  };
  EXPECT_EQ(compared(result(633), result(633.1)).rows.front().says, Says::none);
  const Comparison slower = compared(result(633), result(600));
  EXPECT_EQ(slower.rows.front().words, "slower by 5.2%");
  EXPECT_EQ(slower.rows.front().says, Says::worse);
  EXPECT_EQ(compared(result(600), result(633)).rows.front().words, "faster by 5.5%");
}

TEST(Compare, SharesAreComparedAsShares) {
  const auto result = [](int oversold) {
    BenchResult result;
    Measurement& m = result.at("seckill", "fair", "embedded",
                               {{"buyers", "4"}, {"fault", "f"}, {"protection", "lock"}, {"stock", "4"}});
    for (int i = 0; i < 20; ++i) m.add("runs_oversold", i < oversold ? 1 : 0);
    return result;
  };
  const Comparison worse = compared(result(0), result(20));
  EXPECT_TRUE(worse.rows.front().words.starts_with("more often by ")) << worse.rows.front().words;
  EXPECT_TRUE(worse.rows.front().words.ends_with(" points")) << worse.rows.front().words;
  EXPECT_EQ(worse.rows.front().says, Says::worse);
  EXPECT_EQ(compared(result(3), result(5)).rows.front().says, Says::none);
}

// Written and read again, a result is the same row by row.
RC_GTEST_PROP(CompareProperty, AResultIsReadAsItWasWritten, (std::uint64_t seed)) {
  const auto locks = *rc::gen::inRange<std::size_t>(1, 5);
  const auto rounds = *rc::gen::inRange<std::size_t>(1, 6);
  const BenchResult result = drawn(seed, locks, rounds);
  const TemporaryFolder folder;
  write_file(folder.path() + "/r.json", to_json(result));
  const ReadResult read = read_results(folder.path());
  RC_ASSERT(read.documents.size() == 1u);
  RC_ASSERT(read.documents.front().machine == result.machine);
  const Comparison comparison = compare(measured(result, "a"), read, "a", "b");
  RC_ASSERT(comparison.rows.size() == 2 * locks);
  RC_ASSERT(comparison.only_before.empty() && comparison.only_now.empty() && comparison.unlike.empty());
  for (const ComparedRow& row : comparison.rows)
    RC_ASSERT(row.says == (rounds > 1 ? Says::none : Says::unknown));
}

// --- the command

class CompareCommand : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const BenchResult& result) {
    write_file(folder_.path() + "/" + name, to_json(result));
    return folder_.path() + "/" + name;
  }
  TemporaryFolder folder_;
};

TEST_F(CompareCommand, TwoFilesAreComparedAndNothingIsMeasured) {
  const std::string a = write("a.json", drawn(1, 4, 5)),
                    b = write("b.json", drawn(2, 4, 5, [](std::size_t i) { return i == 0 ? 0.5 : 1.0; }));
  const Ran worse = holdfast("bench --compare " + a + " " + b, "PATH=/nowhere");
  EXPECT_EQ(worse.exit, 1) << worse.out << worse.err;
  EXPECT_TRUE(worse.says("reentrant, real/fibers, clients 50, connections shared\n  ✗ pairs: ")) << worse.out;
  EXPECT_EQ(worse.last_line(), "8 rows: 2 worse, 0 better, 6 with no difference that can be seen");
  EXPECT_EQ(holdfast("bench --compare " + b + " " + a).exit, 0);
  EXPECT_EQ(holdfast("bench --locks fair --compare " + a + " " + b).exit, 2);
  EXPECT_EQ(holdfast("bench --world embedded --compare " + a + " " + b).exit, 2);
}

TEST_F(CompareCommand, WhatIsMeasuredIsComparedWithAnOlderResult) {
  const std::string old = folder_.path() + "/old.json",
                    line = "bench --suite contended --world embedded --locks reentrant --clients 3 --quick ";
  ASSERT_EQ(holdfast(line + "--json " + old, "PATH=/nowhere").exit, 0);
  const Ran again = holdfast(line + "--compare " + old, "PATH=/nowhere");
  EXPECT_EQ(again.exit, 0) << again.out;
  EXPECT_TRUE(again.says(" worse, 0 better, ")) << again.out;
  EXPECT_TRUE(again.last_line().find(": 0 worse, 0 better, ") != std::string::npos) << again.out;
  // Planted: it was twice as fast.
  auto document = nlohmann::ordered_json::parse(read_text(old));
  for (auto& m : document["measurements"]) {
    auto& pairs = m["metrics"]["pairs"];
    pairs["rounds"] = {2 * pairs["rounds"][0].get<double>()};
  }
  write_file(old, document.dump());
  const Ran slower = holdfast(line + "--compare " + old, "PATH=/nowhere");
  EXPECT_EQ(slower.exit, 1) << slower.out;
  EXPECT_TRUE(slower.says("slower by 50%")) << slower.out;
}

TEST_F(CompareCommand, BadInputIsOneLine) {
  const std::string good = write("good.json", drawn(1, 1, 3));
  const auto bad = [&](const std::string& name, const std::string& text) {
    write_file(folder_.path() + "/" + name, text);
    return folder_.path() + "/" + name;
  };
  auto document = nlohmann::ordered_json::parse(read_text(good));
  const auto changed = [&](const std::string& name,
                           const std::function<void(nlohmann::ordered_json&)>& change) {
    auto copy = document;
    change(copy);
    return bad(name, copy.dump());
  };
  for (const auto& [files, said] : std::vector<std::pair<std::string, std::string>>{
           {folder_.path() + "/none.json", "none.json: cannot be read"},
           {bad("text", "no json"), "text: is no JSON"},
           {bad("other", "{\"schema\": 1}"),
            "is no result of a benchmark, expected what `holdfast bench --json` wrote"},
           {changed("version", [](auto& d) { d["version"] = 99; }), "document version 99, not 2"},
           {changed("suite", [](auto& d) { d["measurements"][0]["suite"] = "x"; }), "no suite `x`"},
           {changed("unit", [](auto& d) { d["measurements"][0]["metrics"]["pairs"]["unit"] = "x"; }),
            "has another unit than `1/s`"},
           {changed("number", [](auto& d) { d["measurements"][0]["metrics"]["pairs"]["rounds"][1] = "x"; }),
            "is no number"},
           {good + " " + good + " --rounds 3", "--rounds: says how to measure"}}) {
    const Ran ran = holdfast("bench --compare " + files);
    EXPECT_EQ(ran.exit, 64) << files << ran.out;
    EXPECT_NE(ran.err.find(said), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace holdfast::tools
