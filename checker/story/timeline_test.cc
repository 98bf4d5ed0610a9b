// The page's data are valid and complete; how it looks is for eyes (and a browser) to say.
#include "checker/story/timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t at = page.find(begin);
  EXPECT_NE(at, std::string::npos);
  const std::size_t from = at + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(Timeline, HasLanesBarsFaultsAndOverlaps) {
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
  const Verdict verdict = find_check("lease-exclusion")->run(history, {});
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  std::ostringstream page;
  write_timeline(history, verdict.witnesses, {.title = "a </script> title"}, page);
  const nlohmann::json data = data_of(page.str());
  EXPECT_EQ(data["title"], "a </script> title");
  EXPECT_EQ(data["lanes"], (nlohmann::json{"c1/0", "c2/0", "node r2"}));
  EXPECT_EQ(data["ops"].size(), 4U);
  EXPECT_EQ(data["ops"][3][2], -1);     // the release never returned
  ASSERT_EQ(data["holds"].size(), 3U);  // two owners, and a server's record
  EXPECT_EQ(data["holds"][2][0], 2);
  EXPECT_EQ(data["holds"][2][1], 4000);
  EXPECT_EQ(data["holds"][2][6], 1);
  EXPECT_EQ(data["holds"][0][1], 2000);
  EXPECT_EQ(data["holds"][0][2], 5000);
  EXPECT_EQ(data["holds"][0][3], 100000);
  EXPECT_EQ(data["holds"][1][2], -1);
  EXPECT_EQ(data["holds"][1][6], 0);
  EXPECT_EQ(data["faults"][0]["acts"], (nlohmann::json{{0, 7000}}));
  ASSERT_EQ(data["overlaps"].size(), 1U);
  EXPECT_EQ(data["overlaps"][0]["lanes"], (nlohmann::json{0, 1}));
  EXPECT_EQ(data["overlaps"][0]["from"], 4000);
  EXPECT_EQ(data["overlaps"][0]["to"], 5000);
}

TEST(Timeline, OfNothing) {
  std::ostringstream page;
  write_timeline(History(), {}, {}, page);
  EXPECT_EQ(data_of(page.str())["ops"].size(), 0U);
}

}  // namespace
}  // namespace holdfast::checker
