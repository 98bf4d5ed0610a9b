// The schema says what the parser does: every shipped file fits it, a slip of the finger does not, and key by
// key and choice by choice it is what the parser takes, as the parser's own complaints tell.
#include "tools/holdfast/scenario_schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "sim/client/lock_kind.h"
#include "sim/scenario/scenario.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// --- files against the schema, by python3-jsonschema

class Schema : public ::testing::Test {
 protected:
  Ran fits(const std::string& files) {
    const std::string schema = folder_.path() + "/schema.json";
    write_file(schema, scenario_schema());
    return run_shell("python3 " + holdfast::testing::source_path("tools/holdfast/schema_test.py ") + schema +
                     " " + files);
  }
  Ran fits_text(const std::string& text) {
    write_file(folder_.path() + "/s.toml", text);
    return fits(folder_.path() + "/s.toml");
  }
  TemporaryFolder folder_;
};

TEST_F(Schema, EveryShippedScenarioFits) {
  std::string files;
  for (const auto& entry : fs::recursive_directory_iterator(kScenarios)) {
    if (entry.path().extension() == ".toml") files += " " + entry.path().string();
  }
  const Ran ran = fits(files);
  if (ran.exit == 77) GTEST_SKIP() << ran.err;
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

TEST_F(Schema, WhatTheParserRefusesItRefuses) {
  const std::string good = read_text(kScenarios + "primary_failover_double_grant.toml");
  const Ran first = fits_text(good);
  if (first.exit == 77) GTEST_SKIP() << first.err;
  ASSERT_EQ(first.exit, 0) << first.out << first.err;
  const struct {
    const char *from, *to;
  } slips[] = {
      {"lease =", "laese ="},
      {"[workload]", "[worload]"},
      {"schema = 1", "schema = 2"},
      {"\"reentrant\"", "\"rentrant\""},
      {"kind = \"crash\"", "kind = \"crahs\""},
      {"id = \"lag\"", "idd = \"lag\""},
      {"check = \"oversell\"", "check = \"over-sell\""},
      {"is = \"violated\"", "is = \"violatd\""},
      {"[[expect]]", "[[expects]]"},
      {"at = \"0s\"", "at = \"0 parsecs\""},
      {"at = \"0s\"", "at = \"0s\"\nevery = \"1s\""},
  };
  for (const auto& [from, to] : slips) {
    // Shipped files pad the key: `lease = ` may be `lease   = `.
    std::string pattern = std::regex_replace(std::string(from), std::regex("[\\[\\]]"), "\\$&");
    pattern = std::regex_replace(pattern, std::regex(" ?="), " *=");
    const std::string text =
        std::regex_replace(good, std::regex(pattern), to, std::regex_constants::format_first_only);
    ASSERT_NE(text, good) << from;
    EXPECT_THROW(sim::parse_scenarios(text, "s.toml"), sim::BadScenario) << to;
    EXPECT_EQ(fits_text(text).exit, 1) << to;
  }
}

// --- the schema against the parser

std::set<std::string> quoted_words(const std::string& text) {
  std::set<std::string> words;
  static const std::regex kWord("`([^`]*)`");
  for (std::sregex_iterator at(text.begin(), text.end(), kWord), end; at != end; ++at) words.insert((*at)[1]);
  return words;
}

std::string complaint(const std::string& text) {
  try {
    sim::parse_scenarios(text, "s.toml");
  } catch (const sim::BadScenario& error) {
    return error.what();
  }
  return "";
}

// What the parser expects in the place of the key `zzz` that it does not know.
std::set<std::string> keys_of_parser(const std::string& text) {
  const std::string told = complaint(text);
  const std::size_t expected = told.find(", expected ");
  EXPECT_NE(told.find("unknown key `zzz`"), std::string::npos) << told << "\n" << text;
  if (expected == std::string::npos) return {};
  std::set<std::string> words = quoted_words(told.substr(expected, told.find(", did you mean") - expected));
  words.erase("");
  return words;
}

std::set<std::string> keys_of(const Json& table) {
  std::set<std::string> keys;
  for (const auto& [key, value] : table.at("properties").items()) keys.insert(key);
  return keys;
}

struct Sections {
  std::string run = {}, cluster = {}, lock = "kind = \"reentrant\"\n",
              workload = "kind = \"critical-section\"\n";
  std::string network = {}, rare = {}, more = {}, top = {}, expect = "check = \"lease-exclusion\"\n";
  std::string text() const {
    return "schema = 1\nname = \"x\"\n" + top + "[run]\n" + run + "[cluster]\n" + cluster + "[lock]\n" +
           lock + "[workload]\n" + workload + "[network]\n" + network + "[rare]\n" + rare + "[[expect]]\n" +
           expect + more;
  }
};

// A lock that counts down.
std::string latch() {
  for (const sim::LockKind& kind : sim::all_lock_kinds()) {
    if (kind.latch) return "kind = \"" + std::string(kind.name) + "\"\n";
  }
  return "";
}

const std::string kWrong = "zzz = 1\n";

TEST(SchemaAndParser, HaveTheSameKeys) {
  const Json schema = Json::parse(scenario_schema());
  const Json& top = schema.at("properties");
  ASSERT_EQ(complaint(Sections().text()), "");
  const auto same = [&](const char* section, std::string Sections::*place) {
    Sections sections;
    sections.*place += kWrong;
    EXPECT_EQ(keys_of_parser(sections.text()), keys_of(top.at(section))) << section;
  };
  same("run", &Sections::run);
  same("cluster", &Sections::cluster);
  same("lock", &Sections::lock);
  same("network", &Sections::network);
  same("rare", &Sections::rare);
  EXPECT_EQ(keys_of_parser(Sections{.top = kWrong}.text()), keys_of(schema));
  for (const Json& workload : top.at("workload").at("oneOf")) {
    const std::string kind = workload.at("properties").at("kind").at("const");
    Sections sections;
    if (kind == "count-down") sections.lock = latch();
    sections.workload = "kind = \"" + kind + "\"\n" + kWrong;
    EXPECT_EQ(keys_of_parser(sections.text()), keys_of(workload)) << kind;
  }
  const std::string expect = "[[expect]]\ncheck = \"oversell\"\n" + kWrong;
  EXPECT_EQ(keys_of_parser(Sections{.more = expect}.text()), keys_of(schema.at("$defs").at("expect")));
  const std::string variant = "[[variant]]\nname = \"v\"\n" + kWrong;
  EXPECT_EQ(keys_of_parser(Sections{.more = variant}.text()), keys_of(schema.at("$defs").at("variant")));
}

TEST(SchemaAndParser, HaveTheSameKeysOfFaultsAndTriggers) {
  const Json definitions = Json::parse(scenario_schema()).at("$defs");
  const auto& kinds = definitions.at("fault").at("allOf").at(1).at("oneOf");
  EXPECT_EQ(kinds.size(), sim::all_fault_kinds().size());
  for (const Json& kind : kinds) {
    const std::string name = kind.at("properties").at("kind").at("const");
    std::string fault = "[[fault]]\nid = \"f\"\nkind = \"" + name + "\"\nat = \"1s\"\n" + kWrong;
    for (const auto& key : kind.at("required")) {
      const std::string required = key;
      if (required == "id" || required == "kind") continue;
      const Json& value = kind.at("properties").at(required);
      std::string example = required == "node" ? "\"r1\"" : required == "client" ? "\"c1\"" : "\"1s\"";
      if (value.contains("enum")) example = value.at("enum").at(0).dump();
      if (value.value("type", "") == "integer") example = "1";
      if (value.value("$ref", "").ends_with("percent")) example = "\"1%\"";
      if (value.contains("anyOf")) example = "\"c1\"";
      fault += required + " = " + example + "\n";
    }
    EXPECT_EQ(keys_of_parser(Sections{.more = fault}.text()), keys_of(kind)) << name << "\n" << fault;
  }
  std::set<std::string> after;
  for (const Json& form : definitions.at("after").at("oneOf")) after.merge(keys_of(form));
  const std::string fault =
      "[[fault]]\nid = \"f\"\nkind = \"crash\"\nclient = \"c1\"\nafter = { event = \"read\", zzz = 1 }\n";
  EXPECT_EQ(keys_of_parser(Sections{.more = fault}.text()), after);
}

// For every key with a list of words: the parser names the same list when it gets another word; for every
// number with bounds it names the same bounds.
TEST(SchemaAndParser, TakeTheSameValues) {
  const Json schema = Json::parse(scenario_schema());
  const auto check_keys = [&](const Json& table, std::string Sections::*place, const Sections& base) {
    for (const auto& [key, value] : table.at("properties").items()) {
      if (value.contains("enum")) {
        Sections sections = base;
        std::string& text = sections.*place;
        if (text.starts_with(key + " =")) text = text.substr(text.find('\n') + 1);
        text = key + " = \"zzz\"\n" + text;
        const std::string told = complaint(sections.text());
        const std::size_t expected = told.find("expected ");
        ASSERT_NE(expected, std::string::npos) << key << ": " << told;
        EXPECT_EQ(quoted_words(told.substr(expected)), value.at("enum").get<std::set<std::string>>())
            << key << told;
      } else if (value.value("type", "") == "integer") {
        Sections sections = base;
        sections.*place += key + " = -7\n";
        const std::string bounds = "from " + value.at("minimum").dump() + " to " + value.at("maximum").dump();
        EXPECT_NE(complaint(sections.text()).find(bounds), std::string::npos) << key << ": " << bounds;
      }
    }
  };
  const Json& top = schema.at("properties");
  Sections sentinels;  // some keys go with them only, and as many as there may be can agree
  sentinels.cluster =
      "topology = \"sentinel\"\nnodes = [\"r1\", \"r2\"]\n"
      "sentinels = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\"]\n";
  check_keys(top.at("cluster"), &Sections::cluster, sentinels);
  check_keys(top.at("lock"), &Sections::lock, {});
  for (const Json& workload : top.at("workload").at("oneOf")) {
    const std::string kind = workload.at("properties").at("kind").at("const");
    Sections base;
    if (kind == "count-down") base.lock = latch();
    base.workload = "kind = \"" + kind + "\"\n";
    if (kind == "external") {
      base.lock = base.workload;
      base.workload += "command = [\"true\"]\n";
    }
    check_keys(workload, &Sections::workload, base);
  }
  check_keys(schema.at("$defs").at("expect"), &Sections::expect, {});
  // The kinds of workload themselves.
  std::set<std::string> kinds;
  for (const Json& workload : top.at("workload").at("oneOf"))
    kinds.insert(workload.at("properties").at("kind").at("const"));
  const std::string told = complaint(Sections{.workload = "kind = \"zzz\"\n"}.text());
  EXPECT_EQ(quoted_words(told.substr(told.find("expected "))), kinds);
}

// The shapes of values: what the pattern takes, the parser takes.
TEST(SchemaAndParser, TakeTheSameUnits) {
  const Json definitions = Json::parse(scenario_schema()).at("$defs");
  const std::vector<std::string> texts = {
      "5s",    "1500ms",   " 5s ", "1.5s",   "5",    "-3s",  "5 parsecs", "1ms..5ms", "1ms ..5ms",
      "1ms..", "..5ms",    "60%",  "0%",     "101%", "60",   "7",         "1..200",   "1..10,42",
      "7,9",   "random:5", "all",  ">= 90%", "<=5",  "== 0", "> 5",       ">=",       ""};
  const auto agree = [&](const char* name, const auto& parses) {
    const std::regex pattern(definitions.at(name).at("pattern").get<std::string>());
    for (const std::string& text : texts)
      EXPECT_EQ(std::regex_search(text, pattern), parses(text)) << name << " \"" << text << "\"";
  };
  agree("duration", [](const std::string& text) {
    const auto value = sim::parse_duration(text);
    return value && value->count() >= 0;
  });
  agree("signed_duration", [](const std::string& text) { return sim::parse_duration(text).has_value(); });
  agree("range", [](const std::string& text) {
    const auto value = sim::parse_duration_range(text);
    return value && value->low.count() >= 0;
  });
  agree("percent", [](const std::string& text) { return sim::parse_percent(text).has_value(); });
  agree("seeds", [](const std::string& text) { return sim::parse_seeds(text).has_value(); });
  agree("quota", [](const std::string& text) { return sim::parse_seed_quota(text).has_value(); });
}

TEST(SchemaAndParser, TheCommandPrintsIt) {
  const Ran ran = holdfast("schema");
  EXPECT_EQ(ran.exit, 0);
  EXPECT_EQ(ran.out, scenario_schema());
}

}  // namespace
}  // namespace holdfast::tools
