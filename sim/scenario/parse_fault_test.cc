// The table [[fault]]: probabilities, and what kinds need of the cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using ::testing::HasSubstr;

std::string file(const std::string& fault, const std::string& cluster = "") {
  return "schema = 1\nname = \"story\"\n[cluster]\n" + cluster +
         "\n[lock]\nkind = \"reentrant\"\n[workload]\nkind = \"seckill\"\nclients = 2\n[[fault]]\nid = "
         "\"f\"\n"
         "at = \"1s\"\n" +
         fault + "\n[[expect]]\ncheck = \"oversell\"\n";
}

std::string problem(const std::string& fault, const std::string& cluster = "") {
  try {
    parse_scenarios(file(fault, cluster), "f.toml");
  } catch (const BadScenario& error) {
    return error.what();
  }
  return "no problem";
}

TEST(ParseFault, AProbabilityIsANumberOrAShare) {
  const std::string reset = "kind = \"reset-before-request\"\n";
  const Scenario scenario = parse_scenarios(file(reset + "p = 0.02\n"), "f.toml").front();
  EXPECT_EQ(*scenario.faults.front().config.get<std::int64_t>("p"), 20'000);
  EXPECT_EQ(problem(reset + "p = 1\n"), "no problem");
  EXPECT_EQ(problem(reset + "probability = \"2%\"\n"), "no problem");
  for (const char* const wrong : {"0", "0.0", "-0.1", "1.5", "2", "\"2%\"", "nan"})
    EXPECT_THAT(problem(reset + "p = " + wrong + "\n"), HasSubstr("a number from 0.000001 to 1")) << wrong;
  for (const char* const kind : {"reset-before-request", "reset-after-request", "reset-mid-reply",
                                 "drop-message", "error-reply", "streaming-server", "corrupt-bytes"}) {
    const std::string one = "kind = \"" + std::string(kind) + "\"\nfor = \"1s\"\np = 0.5\n";
    EXPECT_EQ(problem(one), "no problem") << kind;
    EXPECT_THAT(problem(one + "probability = \"2%\"\n"), HasSubstr("which say the same, not both")) << kind;
  }
}

TEST(ParseFault, AFailoverNeedsReplicas) {
  const std::string replicas = "topology = \"primary-replica\"\n",
                    failover = "kind = \"failover\"\nnode = \"r1\"\n";
  EXPECT_EQ(problem(failover, replicas), "no problem");
  EXPECT_THAT(problem(failover), HasSubstr("needs a primary and its replicas"));
  EXPECT_THAT(problem(failover, "topology = \"independent\"\nnodes = [\"r1\", \"r2\", \"r3\"]\n"),
              HasSubstr("needs a primary and its replicas"));
  EXPECT_THAT(problem(failover + "force = true\n", replicas), HasSubstr("`to` and `timeout` with `force`"));
  EXPECT_THAT(problem(failover + "to = \"r1\"\n", replicas), HasSubstr("another node as `to`"));
  EXPECT_THAT(problem(failover + "timeout = \"0s\"\n", replicas), HasSubstr("\"1ms\" or more"));
  EXPECT_EQ(problem(failover + "to = \"r2\"\ntimeout = \"1s\"\nforce = true\n", replicas), "no problem");
}

TEST(ParseFault, DisksInTroubleAreThoseOfServersThatWrite) {
  for (const std::string kind : {"kind = \"disk-full\"\n", "kind = \"slow-fsync\"\ndelay = \"1s\"\n"}) {
    const std::string fault = kind + "node = \"r1\"\nfor = \"1s\"\n";
    EXPECT_THAT(problem(fault), HasSubstr("meets servers that write while they work")) << kind;
    EXPECT_EQ(problem(fault, "persistence = \"aof-everysec\"\n"), "no problem") << kind;
  }
}

TEST(ParseFault, TheEndOfARequestIsNotDamaged) {
  const std::string corrupt = "kind = \"corrupt-bytes\"\nwhere = \"end\"\n";
  EXPECT_EQ(problem(corrupt), "no problem");
  EXPECT_THAT(problem(corrupt + "of = \"request\"\n"),
              HasSubstr("servers do not look at the end of a request"));
}

}  // namespace
}  // namespace holdfast::sim
