// A document that is written and read back is the same, and so is every scenario that is shipped.
#include "sim/scenario/write_document.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lib/testing/folders.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

TEST(WriteDocument, IsLaidOutAsPeopleWriteIt) {
  Value document;
  set_key(document, "name", text_value("a \"b\""));
  set_key(document, "schema", integer_value(1));
  set_key(section_of(document, "lock"), "kind", text_value("fair"));
  set_key(section_of(document, "lock"), "renew", flag_value(false));
  Value fault;
  set_key(fault, "id", text_value("f"));
  Value after;
  set_key(after, "event", text_value("lock.granted"));
  set_key(after, "nth", integer_value(2));
  set_key(fault, "after", after);
  tables_of(document, "fault").push_back(fault);
  EXPECT_EQ(to_toml(document, "One.\n\nTwo."),
            R"(# One.
#
# Two.
name   = "a \"b\""
schema = 1

[lock]
kind  = "fair"
renew = false

[[fault]]
id    = "f"
after = { event = "lock.granted", nth = 2 }
)");
}

TEST(WriteDocument, SetsAndErasesKeys) {
  Value table;
  set_key(table, "a", integer_value(1));
  set_key(table, "b", integer_value(2));
  set_key(table, "a", integer_value(3));
  EXPECT_EQ(to_toml(table), "a = 3\nb = 2\n");
  EXPECT_TRUE(erase_key(table, "a"));
  EXPECT_FALSE(erase_key(table, "a"));
  EXPECT_EQ(to_toml(table), "b = 2\n");
}

rc::Gen<Value> any_value(int depth) {
  const auto leaf =
      rc::gen::oneOf(rc::gen::map(rc::gen::arbitrary<std::string>(),
                                  [](std::string text) {
                                    for (char& c : text) c = static_cast<char>(c & 0x7f);  // TOML is UTF-8
                                    return text_value(std::move(text));
                                  }),
                     rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                                  [](std::int64_t number) { return integer_value(number); }),
                     rc::gen::map(rc::gen::arbitrary<bool>(), [](bool flag) { return flag_value(flag); }),
                     rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'000), [](int number) {
                       Value value;
                       value.kind = Value::Kind::real;
                       value.real = number / 64.0;
                       return value;
                     }));
  if (depth == 0) return leaf;
  const auto below = rc::gen::lazy([depth] { return any_value(depth - 1); });
  return rc::gen::oneOf(
      leaf, rc::gen::map(rc::gen::container<std::vector<Value>>(below), list_value),
      rc::gen::map(rc::gen::container<std::vector<Value>>(below), [](const std::vector<Value>& values) {
        Value table;
        for (std::size_t i = 0; i < values.size(); ++i)
          set_key(table, "k " + std::to_string(i % 7), values[i]);
        return table;
      }));
}

TEST(WriteDocument, WhatIsReadBackIsTheSame) {
  EXPECT_TRUE(rc::check([] {
    Value document;
    const int members = *rc::gen::inRange(0, 6);
    // A file has its plain keys before its sections.
    for (int i = 0; i < members; ++i) set_key(document, "p" + std::to_string(i), *any_value(0));
    for (int i = 0; i < members; ++i) {
      Value table;
      for (int k = *rc::gen::inRange(0, 4); k > 0; --k)
        set_key(table, "k" + std::to_string(k), *any_value(2));
      set_key(document, "s" + std::to_string(i), table);
    }
    const std::string text = to_toml(document);
    RC_ASSERT(same(parse_toml(text, "t.toml"), document));
  }));
}

TEST(WriteDocument, EveryShippedScenarioIsReadBackEqual) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_path("scenarios"))) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".toml" || path.find("node_modules") != std::string::npos) continue;
    for (const Scenario& scenario : read_scenarios(path)) {
      ++count;
      const std::string text = to_toml(*scenario.document);
      const std::vector<Scenario> again = parse_scenarios(text, path);
      ASSERT_EQ(again.size(), 1u) << path;
      EXPECT_TRUE(same(*again.front().document, *scenario.document)) << text;
      EXPECT_EQ(to_toml(*again.front().document), text);
    }
  }
  EXPECT_GT(count, 600u);
}

TEST(WriteDocument, AVariantThatIsReadBackRunsAsBefore) {
  const std::string path = testing::source_path("scenarios/storm.toml");
  for (const Scenario& scenario : read_scenarios(path)) {
    const Scenario again = parse_scenarios(to_toml(*scenario.document), path).front();
    EXPECT_EQ(run_once(again, {.seed = 5}).trace, run_once(scenario, {.seed = 5}).trace) << scenario.title();
  }
}

}  // namespace
}  // namespace holdfast::sim
