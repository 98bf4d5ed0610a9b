// The page's data are valid and complete, and it says of each check what the check said. How it looks and
// works: timeline_browser_test.cc.
#include "checker/story/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

std::string page_of(const History& history, const std::vector<NamedVerdict>& verdicts,
                    const TimelineOptions& options = {}) {
  std::ostringstream page;
  write_timeline(history, verdicts, options, page);
  return page.str();
}
nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t at = page.find(begin);
  EXPECT_NE(at, std::string::npos);
  const std::size_t from = at + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}
NamedVerdict judged(const History& history, const std::string& check) {
  return {check, find_check(check)->run(history, {})};
}

TEST(Timeline, HasLanesEventsHoldsFaultsAndViolations) {
  const History history = testing::history_of(R"(
    0  nemesis info fault lag value=1 error=replication-lag
    1  c1/0 invoke acquire k owner=c1:0
    2  c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=100
    3  c2/0#1 invoke acquire k owner=c2:0
    3  ledger/0 invoke store-grant k id=c2-1 node=r2
    4  ledger/0 ok store-grant k id=c2-1 node=r2 value=1
    4  c2/0#1 ok acquire k owner=c2:0 id=c2-1 node=r2 valid=100 error=</script>
    5  c1/0 invoke release k owner=c1:0 id=c1-1
    7  nemesis info fault lag value=0 error=replication-lag
  )");
  const std::string page =
      page_of(history, {judged(history, "lease-exclusion")}, {.title = "a </script> title"});
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["title"], "a </script> title");
  EXPECT_EQ(data["outcome"], "violated");
  EXPECT_EQ(data["lanes"],
            nlohmann::json::parse(R"([{"name":"c1/0","node":false},{"name":"c2/0","node":false},
                                                     {"name":"r2","node":true}])"));
  const nlohmann::json& events = data["events"];
  EXPECT_EQ(events["time"], (nlohmann::json{0, 1000, 2000, 3000, 3000, 4000, 4000, 5000, 7000}));
  EXPECT_EQ(events["lane"], (nlohmann::json{-1, 0, 0, 1, 2, 2, 1, 0, -1}));
  EXPECT_EQ(events["pair"], (nlohmann::json{-1, 2, 1, 6, 5, 4, 3, -1, -1}));  // the release never returned
  for (const auto& [name, column] : events.items()) EXPECT_EQ(column.size(), 9U) << name;
  EXPECT_EQ(data["strings"][events["text"][7].get<std::size_t>()], "releases k");
  EXPECT_EQ(data["functions"][events["f"][7].get<std::size_t>()], "release");

  const nlohmann::json& holds = data["holds"];
  ASSERT_EQ(holds.size(), 3U);  // two owners, and a server's record
  EXPECT_EQ(holds[0][0], 0);
  EXPECT_EQ(holds[0][1], 2000);
  EXPECT_EQ(holds[0][2], 5000);
  EXPECT_EQ(holds[0][3], 100000);
  EXPECT_EQ(holds[0][6], 0);
  EXPECT_EQ(holds[1][2], -1);
  EXPECT_EQ(holds[2][0], 2);
  EXPECT_EQ(holds[2][1], 4000);
  EXPECT_EQ(holds[2][6], 1);
  EXPECT_EQ(data["faults"][0]["acts"], (nlohmann::json{{0, 7000}}));
  ASSERT_EQ(data["violations"].size(), 1U);
  const nlohmann::json& violation = data["violations"][0];
  EXPECT_EQ(violation["kind"], "double-grant");
  EXPECT_EQ(violation["key"], "k");
  EXPECT_EQ(violation["lanes"], (nlohmann::json{0, 1}));
  EXPECT_EQ(violation["holds"], (nlohmann::json{0, 1}));
  EXPECT_EQ(violation["from"], 4000);
  EXPECT_EQ(violation["to"], 5000);
  // One file: nothing is fetched from anywhere.
  EXPECT_EQ(page.find("http:"), std::string::npos);
  EXPECT_EQ(page.find("https:"), std::string::npos);
  EXPECT_EQ(page.find(" src="), std::string::npos);
}

// Two checks that tell of one pair of holds are one place with two names; each check has its own count.
TEST(Timeline, SaysAsManyViolationsAsTheChecks) {
  const History history = testing::history_of(R"(
    1   c1/0 invoke acquire k owner=c1:0
    2   c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=100
    3   c2/0 invoke acquire k owner=c2:0
    4   c2/0 ok acquire k owner=c2:0 id=c2-1 node=r2 valid=100
    5   c3/0 invoke acquire k owner=c3:0
    6   c3/0 ok acquire k owner=c3:0 id=c3-1 node=r2 valid=100
    50  c1/0 invoke release k owner=c1:0 id=c1-1
    60  c2/0 invoke release k owner=c2:0 id=c2-1
    70  c3/0 invoke release k owner=c3:0 id=c3-1
  )");
  const NamedVerdict lease = judged(history, "lease-exclusion"), mutual = judged(history, "mutual-exclusion"),
                     fencing = judged(history, "fencing-monotonic");
  ASSERT_GT(lease.verdict.violations, 1U);
  const nlohmann::json data = data_of(page_of(history, {lease, mutual, fencing, lease}));
  ASSERT_EQ(data["checks"].size(), 3U);
  EXPECT_EQ(data["checks"][0]["violations"], lease.verdict.violations);
  EXPECT_EQ(data["checks"][1]["violations"], mutual.verdict.violations);
  EXPECT_EQ(data["checks"][2]["outcome"], "unknown");
  EXPECT_EQ(data["violations"].size(), lease.verdict.witnesses.size());
  EXPECT_EQ(data["violations"][0]["checks"], (nlohmann::json{"lease-exclusion", "mutual-exclusion"}));
  EXPECT_EQ(data_of(page_of(history, {fencing}))["outcome"], "unknown");
}

TEST(Timeline, WatchdogsShareTheLaneOfTheirOnlyThread) {
  const nlohmann::json data = data_of(page_of(testing::history_of(R"(
    1  c1/0 invoke acquire k owner=c1:0
    2  c1/0 ok acquire k owner=c1:0 id=c1-1 valid=100
    3  c1/watchdog invoke renew k id=c1-1
    4  c1/watchdog ok renew k id=c1-1 valid=200
    5  c2/0 invoke acquire k owner=c2:0
    5  c2/1 invoke acquire k owner=c2:1
    6  c2/watchdog invoke renew k id=c2-1
  )"),
                                              {}));
  EXPECT_EQ(data["events"]["lane"], (nlohmann::json{0, 0, 0, 0, 1, 2, 3}));
}

TEST(Timeline, ADeadClientIsDeadUntilItComesBack) {
  const nlohmann::json data = data_of(page_of(testing::history_of(R"(
    1  c1/0 invoke acquire k owner=c1:0
    2  c1/0 ok acquire k owner=c1:0 id=c1-1 valid=100
    3  c1 info crash
    9  c1/0#1 invoke acquire k owner=c1:0
    12 c1 info crash
  )"),
                                              {}));
  EXPECT_EQ(data["outages"], nlohmann::json::parse(R"([[0,2000,8000,"dead"],[0,11000,-1,"dead"]])"));
}

// A server that crashed forgets what is on the page as its record, and is down until it runs again.
TEST(Timeline, ACrashedNodeIsDownAndKeepsNoRecord) {
  const nlohmann::json data = data_of(page_of(testing::history_of(R"(
    0  c1/0 invoke acquire k owner=c1:0
    1  ledger/0 invoke store-grant k id=c1-1 node=r1
    2  ledger/0 ok store-grant k id=c1-1 node=r1 value=1
    3  c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=100
    5  nemesis info fault kill value=1 id=kill#1 error=crash
    5  nemesis info effect kill id=kill#1 mode=crashed node=r1
    6  nemesis info effect gc id=gc#1 mode=paused node=c1
    7  nemesis info effect late id=late#1 mode=lagging node=r2
    9  nemesis info effect gc id=gc#1 mode=resumed node=c1
    20 nemesis info fault kill value=0 id=kill#1 error=crash
    20 nemesis info effect kill id=kill#1 mode=restarted node=r1
    30 c1/0 invoke release k owner=c1:0 id=c1-1
  )"),
                                              {}));
  EXPECT_EQ(data["lanes"], nlohmann::json::parse(R"([{"name":"c1/0","node":false},{"name":"r1","node":true},
                                                     {"name":"r2","node":true}])"));
  EXPECT_EQ(data["outages"], nlohmann::json::parse(R"([[1,5000,20000,"down"],[0,6000,9000,"paused"]])"));
  ASSERT_EQ(data["holds"].size(), 2U);
  EXPECT_EQ(data["holds"][1][0], 1);
  EXPECT_EQ(data["holds"][1][2], 5000);  // not the end of the lease
}

TEST(Timeline, NamesFromOutsideStayText) {
  History history;
  Event event;
  event.type = EventType::invoke;
  event.f = Function::acquire;
  event.process = history.intern("c1/0\x1b[2J\xe2\x80\xae");
  event.key = history.intern("</script><script>alert(1)</script>\xff");
  history.append(event);
  const std::string page = page_of(history, {});
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["lanes"][0]["name"], "c1/0\\x1b[2J\\u{202e}");
  EXPECT_EQ(data["strings"][data["events"]["key"][0].get<std::size_t>()],
            "</script><script>alert(1)</script>\\xff");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
}

TEST(Timeline, OfNothing) {
  const nlohmann::json data = data_of(page_of(History(), {}));
  EXPECT_EQ(data["events"]["time"].size(), 0U);
  EXPECT_EQ(data["outcome"], "unknown");
  EXPECT_GT(data["end"], 0);
}

}  // namespace
}  // namespace holdfast::checker
