// What the README shows is what the tool prints.
#include <gtest/gtest.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "lib/testing/folders.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

// How long something took, and from where the program was called, are no promise.
std::string without_times(std::string text) {
  static const std::regex kTime("(read|judged|unexpected,) [0-9.]+ m?s");
  const std::string here = holdfast::testing::build_path("");
  for (std::size_t at = 0; (at = text.find(here, at)) != std::string::npos;)
    text.replace(at, here.size(), "build/");
  return std::regex_replace(text, kTime, "$1 …");
}

// The first block of the README whose command begins with `marker` has what that command prints.
void expect_printed(const std::string& marker, int exit) {
  std::ostringstream file;
  file << std::ifstream(holdfast::testing::source_path("README.md")).rdbuf();
  const std::string readme = file.str();
  const std::size_t begin = readme.find(marker);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t line_end = readme.find('\n', begin);
  const std::string command = readme.substr(begin + 2, line_end - begin - 2);
  const std::string block = readme.substr(line_end + 1, readme.find("```", line_end) - line_end - 1);

  const std::string line = "cd " + holdfast::testing::source_path("") + " && " +
                           holdfast::testing::build_path(command.substr(std::string("build/").size())) +
                           " 2>&1";
  const Ran ran = run_shell("unset COLUMNS; export LC_ALL=C.UTF-8; " + line);
  EXPECT_EQ(ran.exit, exit);
  EXPECT_EQ(without_times(block), without_times(ran.out))
      << "README.md is out of date: put there what `" << command << "` prints";
}

TEST(Readme, FirstScreenIsTheToolsOutput) { expect_printed("$ build/holdfast run ", 0); }
TEST(Readme, CheckIsTheToolsOutput) { expect_printed("$ build/holdfast check ", 1); }

}  // namespace
}  // namespace holdfast::tools
