// `holdfast report`: what is on the page, that nothing of a result runs in it, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "tools/bench/bench_result.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"
#include "tools/report/html.h"
#include "tools/report/plot_svg.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A sale behind one lock, and pairs of it.
BenchResult bench(const std::string& lock, double speed, const std::string& started) {
  BenchResult result;
  result.command = "holdfast bench";
  result.started = started;
  result.complete = true;
  result.machine = {{"cpu", "a"}};
  for (const auto& [fault, oversold] : {std::pair("no-fault", 0.0), std::pair("holder-paused", 1.0)}) {
    Measurement& m = result.at("seckill", lock, "embedded",
                               {{"buyers", "12"}, {"fault", fault}, {"protection", "lock"}, {"stock", "10"}});
    for (int i = 0; i < 3; ++i) {
      m.add("sold", 10 + oversold);
      m.add("oversold", oversold);
      m.add("runs_oversold", oversold);
      m.add("sold_out", 4);
    }
  }
  for (const std::string& name : {lock, std::string("redis-benchmark")}) {
    Measurement& m =
        result.at("uncontended", name, "real/fibers", {{"clients", "50"}, {"connections", "shared"}});
    for (const double noise : {0.99, 1.0, 1.01}) m.add("pairs", (name == lock ? speed : 1) * 1000 * noise);
  }
  return result;
}

class Report : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void keep(const std::string& name, const BenchResult& result) { write_file(path(name), to_json(result)); }
  // The shipped sale with a paused holder, as `run` leaves it.
  void run(const std::string& file = kScenarios + "bench/sale_holder_paused.toml") {
    const Ran ran = holdfast("run " + file + " --variant base --seed 1 --json " + path("run.json") +
                             " --out " + path("kept") + " --keep violated");
    ASSERT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
  std::string page() {
    const Ran ran = holdfast("report " + folder_.path());
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.out, "page " + path("report.html") + "\n");
    return read_text(path("report.html"));
  }
  TemporaryFolder folder_;
};

TEST_F(Report, BeginsWithTheAnswerAndLeadsToTheStory) {
  run();
  const std::string text = page();
  const std::size_t answer = text.find("<p id=\"answer\">");
  ASSERT_NE(answer, std::string::npos);
  EXPECT_NE(
      text.find(
          "1 case ran 1 time in the embedded world. <strong>It did what its file expects</strong>: in 1 a "
          "violation was expected and came (oversell 1).",
          answer),
      std::string::npos)
      << text.substr(answer, 600);
  // The cell of lock and fault leads to the story, which has its picture and its timeline.
  EXPECT_NE(text.find("<th scope=\"col\">pause client</th>"), std::string::npos);
  EXPECT_NE(text.find("<a class=\"mark violated\" href=\"#story-1\""), std::string::npos);
  const std::size_t story = text.find("<article id=\"story-1\">");
  ASSERT_NE(story, std::string::npos);
  EXPECT_NE(text.find("<pre class=\"story\"", story), std::string::npos);
  EXPECT_NE(text.find("data-timeline=\"1\"", story), std::string::npos);
  EXPECT_NE(text.find("id=\"timeline-1\"", story), std::string::npos);
  EXPECT_NE(text.find("--variant base --seed 1</code>", story), std::string::npos);
}

TEST_F(Report, SaysWhatWasNotExpected) {
  const std::string shipped = read_text(kScenarios + "bench/sale_holder_paused.toml");
  write_file(path("in/wrong.toml"),
             shipped.substr(0, shipped.find("[[expect]]")) + "[[expect]]\ncheck = \"oversell\"\n");
  const Ran ran =
      holdfast("run " + path("in") + " --seed 1 --json " + path("run.json") + " --out " + path("kept"));
  ASSERT_EQ(ran.exit, 1) << ran.out;
  const std::string text = page();
  EXPECT_NE(text.find("<strong>1 case did not do what its file expects</strong>: holder-paused."),
            std::string::npos);
  EXPECT_NE(text.find("<a class=\"mark unexpected\" href=\"#story-1\""), std::string::npos);
  EXPECT_NE(text.find("<span class=\"badge bad\">violated, not expected</span>"), std::string::npos);
}

TEST_F(Report, ASaleLeadsToTheStoryOfTheSameLockAndFault) {
  run();
  keep("a.json", bench("reentrant", 1, "2026-01-01T00:00:00Z"));
  keep("b.json", bench("fair", 1, "2026-01-02T00:00:00Z"));
  const std::string text = page();
  EXPECT_NE(
      text.find(
          "<td class=\"bad\" data-sort=\"1\" title=\"3 sales: 1.00 sold beyond the stock on average, 4.00 "
          "s to sell out\"><a href=\"#story-1\">oversells</a></td>"),
      std::string::npos);
  EXPECT_EQ(times(text, ">oversells</a>"), 1u);  // nothing was kept of `fair`
  EXPECT_NE(text.find("Alone, no lock kept the shop from overselling in all of them"), std::string::npos);
}

// What `bench --out` keeps stands behind the cells of the sale, and can be run again.
TEST_F(Report, EverySaleThatOversoldLeadsToItsStory) {
  const Ran ran =
      holdfast("bench --suite seckill --world embedded --locks fair --clients 4 --seeds 1 --json " +
               path("bench.json") + " --out " + path("sales"));
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const std::string text = page();
  EXPECT_GT(times(text, ">oversells</a>"), 5u);
  EXPECT_EQ(times(text, ">oversells</a>"), times(text, "title=\"1 sale: ") - times(text, ">holds</td>") -
                                               times(text, ">no sale</td>") - times(text, ">stalls</td>"));
  const std::string kept = path("sales/embedded-holder-paused-lock-fair/seed-1");
  const auto run_json = nlohmann::json::parse(read_text(kept + "/run.json"));
  EXPECT_EQ(run_json["lock"], "fair");
  EXPECT_EQ(run_json["faults"], nlohmann::json({"pause-client"}));
  EXPECT_EQ(run_json["reproduce"], "holdfast run " + kept + "/scenario.toml --seed 1");
  ASSERT_EQ(holdfast("run " + kept + "/scenario.toml --seed 1 --keep violated --out " + path("again")).exit,
            0);
  const auto again = nlohmann::json::parse(read_text(path("again/holder-paused/seed-1/run.json")));
  EXPECT_EQ(again["trace"], run_json["trace"]);
  // A folder that cannot be made is told before anything is measured.
  write_file(path("file"), "");
  EXPECT_EQ(holdfast("bench --suite seckill --world embedded --out " + path("file/sales")).exit, 74);
}

TEST_F(Report, ComparesTwoResultsOfTheSameRows) {
  keep("old.json", bench("reentrant", 1, "2026-01-01T00:00:00Z"));
  EXPECT_EQ(page().find("id=\"difference\""), std::string::npos);
  keep("a_newer.json", bench("reentrant", 0.8, "2026-01-02T00:00:00Z"));
  const std::string text = page();
  EXPECT_NE(text.find("a_newer.json, compared with old.json"), std::string::npos);
  EXPECT_TRUE(std::regex_search(text, std::regex("<td class=\"bad\">slower by 1[0-9] to 2[0-9]%</td>")));
  EXPECT_NE(text.find("<strong>1 worse, 0 better</strong>"), std::string::npos);
  EXPECT_NE(text.find("<td class=\"figures\" data-sort=\"800\""),
            std::string::npos);  // tables have the newer one
}

TEST_F(Report, IsTheSameWhenItIsMadeAgain) {
  run();
  keep("a.json", bench("reentrant", 1, "2026-01-01T00:00:00Z"));
  const std::string first = page();
  EXPECT_EQ(page(), first);
  EXPECT_EQ(holdfast("report " + folder_.path() + "/ --page " + path("other/page.html")).exit, 0);
  EXPECT_EQ(read_text(path("other/page.html")), first);
}

TEST_F(Report, LoadsNothing) {
  run();
  keep("a.json", bench("reentrant", 1, "2026-01-01T00:00:00Z"));
  const std::string text = page();
  EXPECT_FALSE(std::regex_search(text, std::regex("<(link|img|base|object|embed)\\b")));
  EXPECT_FALSE(std::regex_search(text, std::regex("\\b(src|srcset|href)=\"(?!#)")));
  EXPECT_FALSE(std::regex_search(text, std::regex("@import|@font-face|url\\(")));
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
}

const std::string kEvil = "</script><script>evil()</script><img src=x onerror=\"evil()\">";

TEST_F(Report, NothingOfAResultRuns) {
  run();
  BenchResult result = bench(kEvil, 1, kEvil);
  result.command = result.machine[kEvil] = kEvil;
  result.versions[kEvil] = result.seeds[kEvil] = kEvil;
  result.notes = {kEvil};
  for (Measurement& m : result.measurements) m.parameters["fault"] = m.parameters["connections"] = kEvil;
  Measurement& curve = result.at("failover", kEvil, "embedded", {{"picture", kEvil}});
  curve.curves["grants_per_s"] = {{0, 1}, {1, 2}};
  curve.bands.push_back({kEvil, kEvil, 0, 1});
  keep("a.json", result);
  result.started = "2027";
  result.measurements.resize(3);
  result.machine["cpu"] = kEvil;
  keep("b" + std::string("<script>.json"), result);
  // Every text of what `run` left.
  const std::function<void(nlohmann::ordered_json&)> spoil = [&](nlohmann::ordered_json& value) {
    if (value.is_structured()) {
      for (auto& item : value) spoil(item);
    } else if (value.is_string()) {
      value = value.get<std::string>() + kEvil;
    }
  };
  auto document = nlohmann::ordered_json::parse(read_text(path("run.json")));
  spoil(document);
  document["not_run"] = {{{"file", kEvil}, {"variant", kEvil}, {"reason", kEvil}}};
  write_file(path("run.json"), document.dump());
  const std::string kept = path("kept/holder-paused/seed-1/run.json");
  document = nlohmann::ordered_json::parse(read_text(kept));
  spoil(document);
  write_file(kept, document.dump());
  write_file(path("<script>evil()/x.json"), "{}");
  const std::string text = page();
  EXPECT_EQ(text.find("<script>evil"), std::string::npos);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_EQ(text.find("onerror=\"evil"), std::string::npos);
  EXPECT_GT(times(text, "&lt;script&gt;evil()"), 20u);
  // Its own script, the data of the timeline and their frame; what stands in those ends nowhere.
  EXPECT_EQ(times(text, "<script"), times(text, "</script"));
  EXPECT_EQ(times(text, "<script"), 3u);
}

TEST_F(Report, WhatCannotBeUsedIsOneLine) {
  const auto refused = [&](const std::string& arguments, int exit, const std::vector<std::string>& said) {
    const Ran ran = holdfast("report " + arguments);
    EXPECT_EQ(ran.exit, exit) << ran.err;
    for (const std::string& part : said) EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  };
  refused(path("none"), 64, {path("none") + ": no such folder, expected what `holdfast run"});
  refused(folder_.path(), 64,
          {folder_.path() + ": no results in this folder or below, expected what `holdfast run"});
  write_file(path("other.json"), "{\"some\": 1}");
  refused(folder_.path(), 64, {"no results in this folder"});
  refused(path("other.json"), 64, {"other.json: is no folder, expected one of results"});
  keep("good.json", bench("fair", 1, "x"));
  EXPECT_NE(page().find("left out: other.json: no result of `holdfast run` or `holdfast bench`"),
            std::string::npos);
  write_file(path("half.json"), "{\"document\": \"holdfast-b");
  refused(folder_.path(), 64, {"half.json: is no JSON, expected a result of holdfast"});
  write_file(path("half.json"), "{\"document\": \"holdfast-bench\", \"version\": 1}");
  refused(folder_.path(), 64, {"half.json: cannot be used (document version 1, not 2)", "run it again"});
  write_file(path("half.json"), "{\"cases\": [{\"file\": 1}], \"trace\": \"\", \"world\": \"embedded\"}");
  refused(folder_.path(), 64,
          {"half.json: cannot be used", "what `holdfast run --json` wrote; run it again"});
  fs::remove(path("half.json"));
  write_file(path("file"), "");
  refused(folder_.path() + " --page " + path("file/page.html"), 74, {path("file")});
}

TEST_F(Report, AKeptRunWithoutItsHistoryIsTold) {
  run();
  fs::remove(path("run.json"));
  EXPECT_NE(page().find("1 run is kept here. 1 shows a violation that was expected."), std::string::npos);
  write_file(path("kept/holder-paused/seed-1/history.jsonl"), "no history\n");
  EXPECT_EQ(holdfast("report " + folder_.path()).exit, 64);
}

TEST(ReportHtml, FiguresOfThreeDigits) {
  for (const auto& [value, said] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                               {0.0123, "0.012"},
                                                                               {0.996, "1.00"},
                                                                               {12.34, "12.3"},
                                                                               {131'000, "131k"},
                                                                               {12'345, "12.3k"},
                                                                               {2'500'000, "2.50M"},
                                                                               {-42, "-42.0"}})
    EXPECT_EQ(html::figure(value), said);
}

TEST(ReportPlot, AxesHaveRoundFigures) {
  EXPECT_EQ(ticks(0, 104, false), (std::vector<double>{0, 50, 100}));
  for (const double high : {0.3, 1.0, 7.0, 42.0, 9e5}) {
    const auto found = ticks(0, high, false);
    EXPECT_GE(found.size(), 3u) << high;
    EXPECT_LE(found.size(), 8u) << high;
  }
  for (const auto& [low, high] : {std::pair(0.9, 11.0), std::pair(3.0, 80.0), std::pair(1.0, 1e6)}) {
    const auto found = ticks(low, high, true);
    EXPECT_GE(found.size(), 3u) << low;
    EXPECT_LE(found.size(), 9u) << low;
  }
}

TEST(ReportPlot, EachDotHasItsNameAndItsSpread) {
  const std::string plot =
      dot_plot({{"a <b>", 10, 8, 12, Sort::ours}, {"c", 0, 0, 0, Sort::reference}}, "pairs", "all");
  EXPECT_NE(plot.find("<title>a &lt;b&gt;: 10.0 (8.00 to 12.0)</title>"), std::string::npos) << plot;
  EXPECT_EQ(times(plot, "class=\"spread\""), 2u);
  EXPECT_EQ(plot.find("nan"), std::string::npos);
  EXPECT_EQ(plot.find("logarithmic"), std::string::npos);  // there is a zero
  EXPECT_NE(dot_plot({{"a", 1, 1, 1}, {"b", 100, 90, 110}}, "pairs", "all").find("logarithmic"),
            std::string::npos);
  EXPECT_EQ(dot_plot({{"a", 0, 0, 0}, {"b", 0, 0, 0}}, "pairs", "all").find("nan"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::tools
