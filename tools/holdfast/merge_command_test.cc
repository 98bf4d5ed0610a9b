// `holdfast merge` and `hunt --resume` as their users meet them: parts give what one run or hunt gives, and
// what does not fit together is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

// Without what differs between two runs of the same.
std::string timeless(const std::string& path) {
  std::string text = read_text(path);
  EXPECT_FALSE(text.empty()) << path;
  text = std::regex_replace(text, std::regex("\"seconds\": [-+.e0-9]+"), "\"seconds\": ?");
  return std::regex_replace(text, std::regex("(time|timestamp)=\"[^\"]*\""), "$1=\"?\"");
}

class Merge : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  void write_json(const std::string& name, const nlohmann::ordered_json& document) const {
    std::ofstream(at(name)) << document.dump(2);
  }
  nlohmann::ordered_json json(const std::string& name) const {
    return nlohmann::ordered_json::parse(read_text(at(name)));
  }
  // One line, exit 64.
  void refused(const std::string& command, const std::string& why) const {
    const Ran ran = holdfast(command);
    EXPECT_EQ(ran.exit, 64) << command << ran.out;
    EXPECT_NE(ran.err.find(why), std::string::npos) << command << "\n" << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  TemporaryFolder folder_;
};

// More finds than shards; a number of runs that the shards do not share evenly.
TEST_F(Merge, ShardsOfAHuntAreOneHunt) {
  const std::string hunt = "hunt setnx-expire --no-feedback --runs 80 --seed 1 ";
  const Ran one = holdfast(hunt + "--out " + at("one"));
  EXPECT_EQ(one.exit, 1) << one.err;
  for (const char* const k : {"3", "1", "2"})
    EXPECT_LE(holdfast(hunt + "--shard " + k + "/3 --out " + at(k)).exit, 1);
  const Ran merged =
      holdfast("merge " + at("2") + " " + at("3") + " " + at("1/hunt.json") + " --out " + at("m"));
  EXPECT_EQ(merged.exit, 1) << merged.err;
  EXPECT_EQ(merged.last_line(), one.last_line()) << "the trace of all runs in their order";
  EXPECT_EQ(timeless(at("m/hunt.json")), timeless(at("one/hunt.json")));
  const auto finds = json("one/hunt.json").at("finds");
  EXPECT_GE(finds.size(), 2u);
  for (const auto& find : finds) {
    const std::string file = find.at("file");
    EXPECT_EQ(read_text(at("m/" + file)), read_text(at("one/" + file)));
    EXPECT_EQ(read_text(at("m/" + file)), find.at("scenario"));
  }
  EXPECT_EQ(holdfast("run " + at("m")).exit, 0) << "each find is a file that runs";
}

TEST_F(Merge, RefusesHuntsThatDoNotFitTogether) {
  const auto hunted = [&](const std::string& name, const std::string& flags) {
    EXPECT_LE(holdfast("hunt fair --no-shrink --json " + at(name) + " " + flags).exit, 1);
    return " " + at(name);
  };
  const std::string first = hunted("a", "--no-feedback --runs 20 --shard 1/2");
  const std::string second = hunted("b", "--no-feedback --runs 20 --shard 2/2");
  EXPECT_EQ(holdfast("merge" + first + second).exit, 0);
  refused("merge" + first, "shard 2/2 is missing; expected all 2 shards");
  std::ofstream(at("a again")) << read_text(at("a"));
  refused("merge" + first + second + " '" + at("a again") + "'", "is shard 1/2, as is");
  refused("merge" + first + hunted("c", "--no-feedback --runs 20 --shard 2/2 --seed 2"),
          "seed is 2, but 1 in");
  refused("merge" + first + hunted("d", "--no-feedback --runs 22 --shard 2/2"),
          "number of runs is 22, but 20 in");
  refused("merge" + first + hunted("e", "--no-feedback --runs 20 --shard 2/3"), "is shard 2/3, but");
  refused("merge" + first + hunted("f", "--runs 20"), "feedback is on, but off in");
  refused("merge" + first + hunted("g", "--no-feedback --runs 20 --shard 2/2 --no-swarm"),
          "swarm is off, but on");
  const auto changed = [&](const char* key, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json document = json("b");
    document[key] = value;
    write_json("changed", document);
    return "merge" + first + " " + at("changed");
  };
  refused(changed("version", "0.0.1"), "version is 0.0.1, but");
  refused(changed("probe", "0123456789abcdef"),
          "build of holdfast (its runs differ) is 0123456789abcdef, but");
  refused(changed("schema", 2), "schema 2, this is for 1");
  refused(changed("coverage", {"nonsense"}), "changed: cannot be used");
  refused(changed("traces", nlohmann::ordered_json::array()), "a shard without the traces of all its runs");
  refused("merge " + at("nothing"), "cannot be read");
  std::ofstream(at("text")) << "text";
  refused("merge " + at("text"), "is no JSON");
  write_json("other", {{"a", 1}});
  refused("merge " + at("other"), "cannot be merged, expected what `holdfast hunt`");
  refused("merge" + first + second + " --junit " + at("x"), "--junit and --github are of runs");
}

// An interrupted shard ends with fewer runs; asking for more than it ran is the same.
TEST_F(Merge, AShardThatWasInterruptedIsGoneOnWith) {
  const std::string hunt = "hunt fair --no-feedback --no-shrink --seed 7 ";
  holdfast(hunt + "--runs 300 --json " + at("one"));
  holdfast(hunt + "--runs 300 --shard 1/2 --json " + at("a"));
  holdfast(hunt + "--runs 128 --shard 2/2 --json " + at("b"));
  nlohmann::ordered_json cut = json("b");
  cut["asked_runs"] = 300;
  write_json("b", cut);
  refused("merge " + at("a") + " " + at("b"), "shard 2/2 was interrupted after 64 of 150 runs");
  EXPECT_LE(holdfast("hunt --resume " + at("b")).exit, 1);
  EXPECT_LE(holdfast("merge " + at("a") + " " + at("b") + " --json " + at("m")).exit, 1);
  EXPECT_EQ(timeless(at("m")), timeless(at("one")));
}

TEST_F(Merge, HuntsWithFeedbackAreAUnion) {
  const auto hunted = [&](const std::string& name, const std::string& flags) {
    EXPECT_LE(holdfast("hunt setnx-expire --no-shrink --runs 128 --json " + at(name) + " " + flags).exit, 1);
    return " " + at(name);
  };
  const std::string first = hunted("a", "--seed 1"), second = hunted("b", "--seed 2");
  EXPECT_EQ(holdfast("merge" + second + first + " --json " + at("m")).exit, 1);
  const auto a = json("a"), b = json("b"), all = json("m");
  EXPECT_EQ(all.at("runs"), 256);
  EXPECT_EQ(all.at("cases").size(), a.at("cases").size() + b.at("cases").size());
  EXPECT_GT(all.at("coverage").size(), std::max(a.at("coverage").size(), b.at("coverage").size()));
  EXPECT_LT(all.at("coverage").size(), a.at("coverage").size() + b.at("coverage").size());
  EXPECT_GE(all.at("violations").size(), std::max(a.at("violations").size(), b.at("violations").size()));
  refused("merge" + first + hunted("c", "--seed 1"), "has the hunt of seed 1, as has");
  // It goes on from all that both knew.
  EXPECT_LE(holdfast("hunt --runs 320 --resume " + at("m")).exit, 1);
  const auto more = json("m");
  EXPECT_EQ(more.at("runs"), 320);
  EXPECT_EQ(more.at("hunts").at(0).at("runs"), 192);
  EXPECT_GT(more.at("coverage").size(), all.at("coverage").size());
}

TEST_F(Merge, AHuntThatIsGoneOnWithIsOneHunt) {
  for (const std::string lock : {"setnx-expire", "fair"}) {
    const std::string hunt = "hunt " + lock + " --no-shrink --seed 3 ";
    holdfast(hunt + "--runs 192 --jobs 2 --out " + at("one"));
    holdfast(hunt + "--runs 64 --out " + at("parts"));
    EXPECT_LE(holdfast("hunt --runs 128 --resume " + at("parts")).exit, 1);
    const Ran last = holdfast("hunt --runs 192 --resume " + at("parts"));
    EXPECT_LE(last.exit, 1) << last.err;
    EXPECT_EQ(timeless(at("parts/hunt.json")), timeless(at("one/hunt.json"))) << lock;
  }
  refused("hunt --runs 192 --resume " + at("parts"), "all of its 192 runs are there, expected more --runs");
  refused("hunt fair --resume " + at("parts"), "expected no `fair`");
  refused("hunt --seed 2 --resume " + at("parts"), "expected no --seed");
  refused("hunt --runs 64", "what is hunted is not given");
  holdfast("hunt fair --no-shrink --runs 70 --json " + at("odd"));
  refused("hunt --runs 192 --resume " + at("odd"), "within a generation of 64");
  nlohmann::ordered_json other = json("parts/hunt.json");
  other["probe"] = "0123456789abcdef";
  write_json("other", other);
  refused("hunt --runs 256 --resume " + at("other"), "another build of holdfast");
}

TEST_F(Merge, ShardsOfARunAreOneRun) {
  const std::string mine = at("mine.toml");
  // A violation that is not expected, on some seeds: only all shards together can judge it.
  std::ofstream(mine)
      << "schema = 1\nname = \"mine\"\n[run]\nseeds = \"1..30\"\n[lock]\nkind = \"setnx-expire\"\n"
         "lease = \"100ms\"\n[workload]\nkind = \"critical-section\"\nclients = 3\nrounds = 2\n"
         "hold = \"20ms..140ms\"\n[[expect]]\ncheck = \"no-foreign-release\"\n"
         "[[expect]]\ncheck = \"no-foreign-release\"\nis = \"violated\"\nseeds = \">= 60%\"\n";
  const std::string run = "run " + kScenarios + "explore " + mine + " --seeds 4..10 ";
  const Ran one = holdfast(run + "--json " + at("one.json") + " --junit " + at("one.xml"));
  EXPECT_EQ(one.exit, 1) << one.out << one.err;
  for (const std::string k : {"1", "2", "3"})
    EXPECT_LE(holdfast(run + "--shard " + k + "/3 --json " + at(k + ".json")).exit, 1);
  const std::string shards = at("1.json") + " " + at("2.json") + " " + at("3.json");
  const Ran merged = holdfast("merge " + shards + " --json " + at("m") + " --junit " + at("m.xml"));
  EXPECT_EQ(merged.exit, 1) << merged.err;
  EXPECT_EQ(timeless(at("m")), timeless(at("one.json")));
  EXPECT_EQ(timeless(at("m.xml")), timeless(at("one.xml")));
  EXPECT_EQ(merged.last_line(), one.last_line());
  EXPECT_FALSE(json("m").contains("shard"));

  refused("merge " + at("1.json") + " " + at("3.json"), "shard 2/3 is missing");
  refused("merge " + at("one.json"), "it is no shard of a run");
  refused("merge " + shards + " --out " + at("o"), "--out is of hunts");
  nlohmann::ordered_json other = json("2.json");
  other["shard"]["cases"].back()["text"] = "0123456789abcdef";
  write_json("2.json", other);
  refused("merge " + shards, "the text of " + mine + " is another than in");
  refused(run + "--shard 4/3", "--shard: `4/3`, expected K/N such as 1/8");
  refused(run + "--shard 1/3 --out " + at("o"), "expected --keep all with --out");
  refused("run " + mine + " --seeds random:3 --shard 1/3", "each shard would draw seeds of its own");
}

}  // namespace
}  // namespace holdfast::tools
