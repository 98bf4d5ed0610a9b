#include "sim/hunt/role_changes.h"

#include <gtest/gtest.h>

#include "checker/testing/script_history.h"

namespace holdfast::sim {
namespace {

using checker::testing::history_of;

TEST(RoleChanges, CountWhileSomebodyHasAClaim) {
  const auto history = history_of(R"(
    1     nemesis info effect a id=a#1 mode=promoted node=r1
    10    c1/0 invoke acquire k
    12    c1/0 ok     acquire k id=c1-1 owner=c1:0 valid=50
    13    nemesis info effect a id=a#2 mode=promoted node=r2
    14    nemesis info effect b id=b#1 mode=demoted node=r1
    15    nemesis info effect c id=c#1 mode=restarted node=r3
    16    nemesis info effect d id=d#1 mode=lagging node=r3
    17    nemesis info effect e id=e#1 mode=crashed node=r3
    50    nemesis info effect a id=a#3 mode=promoted node=r1
    60    c1/0 invoke release k
    61    c1/0 ok     release k
    70    nemesis info effect a id=a#4 mode=promoted node=r2
  )");
  EXPECT_EQ(role_changes_in_claims(history), 3u);
}

TEST(RoleChanges, OfSeveralClaimsOneIsEnough) {
  EXPECT_EQ(role_changes_in_claims(history_of(R"(
    10    c1/0 invoke acquire k
    11    c2/0 invoke acquire l
    12    c1/0 ok     acquire k id=c1-1 owner=c1:0 valid=50
    13    c2/0 ok     acquire l id=c2-1 owner=c2:0 valid=20
    14    nemesis info effect a id=a#1 mode=promoted node=r2
    30    nemesis info effect a id=a#2 mode=promoted node=r1
    40    c1/0 invoke release k id=c1-1 owner=c1:0
    41    c1/0 ok     release k id=c1-1 owner=c1:0
    45    nemesis info effect a id=a#3 mode=promoted node=r2
  )")),
            2u);
}

}  // namespace
}  // namespace holdfast::sim
