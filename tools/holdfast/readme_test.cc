// The README's first screen is what the tool prints.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace holdfast::tools {
namespace {

TEST(Readme, FirstScreenIsTheToolsOutput) {
  std::ostringstream file;
  file << std::ifstream(HOLDFAST_SOURCE_DIR "/README.md").rdbuf();
  const std::string readme = file.str();
  const std::string marker = "$ build/holdfast run ";
  const std::size_t begin = readme.find(marker);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t line_end = readme.find('\n', begin);
  const std::string command = readme.substr(begin + 2, line_end - begin - 2);
  const std::string block = readme.substr(line_end + 1, readme.find("```", line_end) - line_end - 1);

  const std::string line = "cd " HOLDFAST_SOURCE_DIR " && " HOLDFAST_BINARY_DIR "/" +
                           command.substr(std::string("build/").size()) + " 2>&1";
  std::FILE* pipe = popen(line.c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) output.append(buffer.data(), got);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(block, output) << "README.md is out of date: put there what `" << command << "` prints";
}

}  // namespace
}  // namespace holdfast::tools
