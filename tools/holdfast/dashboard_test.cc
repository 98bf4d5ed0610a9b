// The board and the alerts of tools/dashboard/ name metrics that LockMetrics writes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "lib/lock/observers/lock_metrics.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/folders.h"
#include "lib/testing/prometheus_text.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

// As queries call them: a histogram has _bucket, _sum and _count.
std::set<std::string> metrics_written() {
  ThreadRuntime runtime;
  const LockMetrics metrics(runtime);
  std::set<std::string> names;
  for (const auto& [name, type] : holdfast::testing::parse_prometheus(metrics.text()).types) {
    if (type != "histogram") {
      names.insert(name);
      continue;
    }
    for (const char* const suffix : {"_bucket", "_sum", "_count"}) names.insert(name + suffix);
  }
  return names;
}

std::set<std::string> named_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex name("holdfast_(lock|redis)_[a-z_]+");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) names.insert(at->str());
  return names;
}

TEST(Dashboard, NamesWhatIsWritten) {
  const std::set<std::string> written = metrics_written();
  EXPECT_GT(written.size(), 20u);
  for (const char* const file : {"tools/dashboard/board.json", "tools/dashboard/alerts.yml"}) {
    const std::set<std::string> named = named_in(read_text(holdfast::testing::source_path(file)));
    EXPECT_GT(named.size(), 7u) << file;
    for (const std::string& name : named) EXPECT_EQ(written.count(name), 1u) << file << ": " << name;
  }
}

TEST(Dashboard, EveryMetricIsOnTheBoard) {
  std::set<std::string> named =
      named_in(read_text(holdfast::testing::source_path("tools/dashboard/board.json")));
  for (const std::string& name : metrics_written()) {
    if (name.ends_with("_sum") || name.ends_with("_count")) continue;
    EXPECT_EQ(named.count(name), 1u) << name;
  }
}

// The page has a row for each metric, with its type and its HELP, and for nothing else.
TEST(Dashboard, ThePageHasEveryMetric) {
  const std::string page = read_text(holdfast::testing::source_path("tools/dashboard/README.md"));
  ThreadRuntime runtime;
  const LockMetrics metrics(runtime);
  const std::string text = metrics.text();
  std::set<std::string> rows, expected;
  const std::regex row("\\| `(holdfast_[a-z_]+)` \\| ([a-z]+) \\| [^|]+ \\| ([^|]+) \\|");
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at)
    rows.insert((*at)[1].str() + ' ' + (*at)[2].str() + ": " + (*at)[3].str());
  const std::regex family("# HELP ([a-z_]+) (.*)\n# TYPE [a-z_]+ ([a-z]+)");
  for (std::sregex_iterator at(text.begin(), text.end(), family), end; at != end; ++at)
    expected.insert((*at)[1].str() + ' ' + (*at)[3].str() + ": " + (*at)[2].str());
  EXPECT_GT(expected.size(), 15u);
  EXPECT_EQ(rows, expected);
}

// And one for each panel, with what it shows.
TEST(Dashboard, ThePageHasEveryPanel) {
  const std::string page = read_text(holdfast::testing::source_path("tools/dashboard/README.md"));
  const auto board =
      nlohmann::json::parse(read_text(holdfast::testing::source_path("tools/dashboard/board.json")));
  for (const auto& panel : board.at("panels")) {
    const std::string title = panel.at("title").get<std::string>();
    const std::size_t row = page.find("\n| " + title + " | ");
    ASSERT_NE(row, std::string::npos) << title;
    EXPECT_EQ(named_in(page.substr(row, page.find('\n', row + 1) - row)),
              named_in(panel.at("targets").dump()))
        << title;
  }
}

TEST(Dashboard, TheBoardIsOne) {
  const auto board =
      nlohmann::json::parse(read_text(holdfast::testing::source_path("tools/dashboard/board.json")));
  std::set<int> ids;
  for (const auto& panel : board.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << panel.at("title");
    EXPECT_LE(panel.at("gridPos").at("x").get<int>() + panel.at("gridPos").at("w").get<int>(), 24);
    EXPECT_FALSE(panel.at("targets").empty()) << panel.at("title");
  }
  EXPECT_EQ(ids.size(), 12u);
}

// The page says what to do about each alert, and about no other one.
TEST(Dashboard, ThePageHasEveryAlert) {
  const std::string page = read_text(holdfast::testing::source_path("tools/dashboard/README.md"));
  const std::string rules = read_text(holdfast::testing::source_path("tools/dashboard/alerts.yml"));
  std::set<std::string> on_the_page, in_the_rules;
  const std::regex alert("\\| `(Holdfast[A-Za-z]+)` \\|"), rule("- alert: ([A-Za-z]+)");
  for (std::sregex_iterator at(page.begin(), page.end(), alert), end; at != end; ++at)
    on_the_page.insert((*at)[1]);
  for (std::sregex_iterator at(rules.begin(), rules.end(), rule), end; at != end; ++at)
    in_the_rules.insert((*at)[1]);
  EXPECT_GT(in_the_rules.size(), 5u);
  EXPECT_EQ(on_the_page, in_the_rules);
}

}  // namespace
}  // namespace holdfast::tools
