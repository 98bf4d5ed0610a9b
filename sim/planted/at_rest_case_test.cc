// With `at-rest` comes a client of its own, after the work. A failure that needs it keeps it, when it is made
// small and in its file; one that does not loses it.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/hunt/case_file.h"
#include "sim/hunt/shrink.h"
#include "sim/planted/planted.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

// One after another, and then `rest`, who takes it to write.
HuntCase readers(const std::string& kind, const std::string& share) {
  return {.document =
              parse_toml("schema = 1\nname = \"readers\"\n[run]\nseeds = \"1..20\"\n[lock]\nkind = \"" +
                             kind +
                             R"("
lease   = "1s"
fencing = true
[workload]
clients = 3
kind    = "critical-section"
rounds  = 3
readers = ")" + share + R"("
[[expect]]
check = "fencing-monotonic"
[[expect]]
check = "lease-exclusion"
[[expect]]
check = "at-rest"
)",
                         "readers.toml")};
}

std::vector<std::string> asked(const Value& document) {
  std::vector<std::string> checks;
  for (const Value& one : document.find("expect")->items) checks.push_back(one.find("check")->text);
  return checks;
}

class CasesAtRest : public testing::Test {
 protected:
  void SetUp() override { add_planted_kinds(); }

  // As it is found and written; `small`: and made small.
  CaseFile file_of(const HuntCase& one, Shrunk& small) {
    const std::string promise = "fencing-monotonic/token-fell";
    EXPECT_TRUE(try_case(one).shows(promise));
    const Ground ground = ground_of(*find_lock_kind("planted-read-write-reader-token-not-counted"));
    small = shrink(ground, one, promise);
    EXPECT_EQ(small.seeds_of_20, kSeedsThatShow);
    const Trial trial = try_case(small.one);
    const auto broken = std::find_if(trial.failures.begin(), trial.failures.end(),
                                     [&](const Failure& failure) { return failure.promise() == promise; });
    if (broken == trial.failures.end()) return {};
    return case_file(ground, small, *broken, "The story.\n");
  }

  // The file by itself: it shows what it says, on each of its seeds.
  static void expect_that_it_shows(const CaseFile& file) {
    const Value document = parse_toml(file.toml, "case.toml");
    for (std::uint64_t seed = 1; seed <= kSeedsThatShow; ++seed)
      EXPECT_TRUE(try_case({.document = document, .seed = seed}).shows("fencing-monotonic/token-fell"))
          << file.toml;
  }
};

TEST_F(CasesAtRest, WhatItsClientTakesPartInKeepsIt) {
  Shrunk small;
  const CaseFile file = file_of(readers("planted-read-write-reader-token-not-counted", "100%"), small);
  EXPECT_EQ(asked(small.one.document), (std::vector<std::string>{"fencing-monotonic", "at-rest"}));
  EXPECT_EQ(asked(parse_toml(file.toml, "case.toml")),
            (std::vector<std::string>{"fencing-monotonic", "at-rest"}))
      << file.toml;
  EXPECT_NE(file.toml.find("# `rest` comes with the check `at-rest`"), std::string::npos) << file.toml;
  EXPECT_NE(file.toml.find("expect = [{ check = \"fencing-monotonic\" }, { check = \"at-rest\" }]"),
            std::string::npos)
      << "a lock that holds is asked both\n"
      << file.toml;
  expect_that_it_shows(file);
}

TEST_F(CasesAtRest, WhatShowsWithoutItsClientDoesWithout) {
  Shrunk small;
  const CaseFile file = file_of(readers("planted-read-write-reader-token-not-counted", "50%"), small);
  EXPECT_EQ(asked(small.one.document), std::vector<std::string>{"fencing-monotonic"});
  EXPECT_EQ(file.toml.find("at-rest"), std::string::npos) << file.toml;
  expect_that_it_shows(file);
}

// The permits are gone at rest as they were before.
TEST_F(CasesAtRest, WhatIsWrongAtRestAsWellIsSaidSo) {
  Value document = parse_toml(R"(schema = 1
name = "permits"
[lock]
kind    = "planted-semaphore-released-permit-lost"
lease   = "1s"
permits = 2
[workload]
clients = 2
kind    = "critical-section"
rounds  = 3
[[expect]]
check = "progress"
[[expect]]
check = "at-rest"
)",
                              "permits.toml");
  const Shrunk small{.one = {.document = document}, .runs = 1, .seeds_of_20 = kSeedsThatShow};
  const Ground ground = ground_of(*find_lock_kind("planted-semaphore-released-permit-lost"));
  const CaseFile file = case_file(
      ground, small, {.check = "progress", .kind = "stall", .shape = "", .why = ""}, "The story.\n");
  EXPECT_NE(file.toml.find("check = \"at-rest\"\nis    = \"violated\"\n\n"), std::string::npos) << file.toml;
}

// A waiter dies at the head of the queue; who finds it there asks without an end, and takes the server away.
TEST_F(CasesAtRest, AScriptThatDoesNotEndIsToldOfItsServer) {
  const Value document = parse_toml(R"(schema = 1
name = "endless"
[lock]
kind  = "planted-redisson-dead-head-is-seen-for-ever"
lease = "300ms"
[workload]
clients = 4
kind    = "critical-section"
rounds  = 1
hold    = "900ms"
[[fault]]
id     = "die"
kind   = "crash"
client = "$client"
after  = { event = "lock.queued", nth = 1, delay = "10ms" }
[[expect]]
check = "at-rest"
)",
                                    "endless.toml");
  EXPECT_TRUE(try_case({.document = document}).shows("at-rest/endless-script"));
}

}  // namespace
}  // namespace holdfast::sim
