#include "sim/scenario/parse_recogniser.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

TEST(Recognisers, TheShippedOnesAreRead) {
  ASSERT_GE(shipped_recognisers().size(), 5u);
  for (const Recogniser& one : shipped_recognisers()) {
    EXPECT_FALSE(one.about.empty()) << one.name;
    EXPECT_EQ(find_recogniser(one.name), &one);
  }
  EXPECT_EQ(find_recogniser("nonsense"), nullptr);
}

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(parse_recogniser(parse_toml(text, "f.toml"), "a recogniser"));
  } catch (const BadScenario& problem) {
    return problem.what();
  }
  return "";
}

TEST(Recognisers, WhatIsWrongIsToldWithItsPlace) {
  const std::string head = "name = \"x\"\n[[pattern]]\n";
  const std::string good = head + "does = \"acquire\"\ncommand = \"SET $key $owner NX\"\ndone = [\"OK\"]\n";
  EXPECT_EQ(complaint(good), "");
  const std::pair<std::string, std::string> cases[] = {
      {"name = \"x\"\n", "f.toml:1:1: a recogniser has no [[pattern]]"},
      {head + "does = \"grab\"\n", "f.toml:3:8: "},
      {head + "does = \"acquire\"\ndone = \"OK\"\n", "has neither `command` nor `script`"},
      {good + "script = [\"get\"]\n", "has both `command` and `script`"},
      {good + "keys = \"$key\"\n", "expected `keys` and `args` with `script` only"},
      {head + "does = \"acquire\"\ncommand = \"SET $lock\"\ndone = \"OK\"\n",
       "f.toml:4:11: `$lock` is unknown"},
      {head + "does = \"acquire\"\ncommand = \"SET lock $owner\"\ndone = \"OK\"\n",
       "without `$key` in `command`"},
      {head + "does = \"acquire\"\ncommand = \"SET $key\"\n", "`done`"},
      {head + "does = \"release\"\ncommand = \"DEL $key\"\ndone = \"1\"\n",
       "no [[pattern]] with does = \"acquire\""},
      {good + "answer = 1\n", "unknown key `answer`"},
      {"counts = true\nmajority = true\n" + good, "f.toml:2:12: `majority` beside `counts`"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(complaint(text).find(expected), std::string::npos) << text << "\n" << complaint(text);
  }
}

}  // namespace
}  // namespace holdfast::sim
