// What is decided of width, alphabet and colour, from every mix of flags and environment that matters.
#include "tools/holdfast/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace holdfast::tools {
namespace {

using Environment = std::map<std::string, std::string>;

TerminalFacts facts(const Environment& environment, bool is_terminal = false,
                    std::optional<int> columns = {}) {
  return {.environment = [environment](const char* name) -> std::optional<std::string> {
            const auto found = environment.find(name);
            return found == environment.end() ? std::nullopt : std::optional(found->second);
          },
          .is_terminal = is_terminal,
          .columns = columns};
}

int width(const Environment& environment, bool is_terminal, std::optional<int> columns) {
  return decide_terminal(facts(environment, is_terminal, columns), ColorChoice::automatic, false).width;
}

TEST(Terminal, WidthIsTheTerminalsBetween60And200) {
  EXPECT_EQ(width({}, true, 80), 80);
  EXPECT_EQ(width({}, true, 20), 60);
  EXPECT_EQ(width({}, true, 500), 200);
  EXPECT_EQ(width({}, false, std::nullopt), 100);
  EXPECT_EQ(width({}, true, std::nullopt), 100);
  EXPECT_EQ(width({{"COLUMNS", "160"}}, true, 80), 160);
  EXPECT_EQ(width({{"COLUMNS", "160"}}, false, std::nullopt), 160);
  EXPECT_EQ(width({{"COLUMNS", "7"}}, false, std::nullopt), 60);
  EXPECT_EQ(width({{"COLUMNS", "wide"}}, true, 80), 80);
  EXPECT_EQ(width({{"COLUMNS", "0"}}, true, 80), 80);
  EXPECT_EQ(width({{"COLUMNS", ""}}, false, std::nullopt), 100);
}

bool unicode(const Environment& environment, bool ascii = false) {
  return decide_terminal(facts(environment), ColorChoice::automatic, ascii).unicode;
}

TEST(Terminal, AsciiWhereTheLocaleHasNoUtf8) {
  EXPECT_TRUE(unicode({}));  // nothing is said
  EXPECT_TRUE(unicode({{"LANG", "en_US.UTF-8"}}));
  EXPECT_TRUE(unicode({{"LANG", "C.utf8"}}));
  EXPECT_FALSE(unicode({{"LANG", "C"}}));
  EXPECT_FALSE(unicode({{"LANG", "de_DE.ISO-8859-1"}}));
  EXPECT_FALSE(unicode({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}));
  EXPECT_FALSE(unicode({{"LC_ALL", "POSIX"}, {"LC_CTYPE", "C.UTF-8"}}));
  EXPECT_FALSE(unicode({{"LC_CTYPE", "C"}, {"LANG", "en_US.UTF-8"}}));
  EXPECT_TRUE(unicode({{"LC_ALL", ""}, {"LC_CTYPE", "C.UTF-8"}, {"LANG", "C"}}));
  EXPECT_FALSE(unicode({{"LANG", "en_US.UTF-8"}}, true));
}

bool color(const Environment& environment, bool is_terminal, ColorChoice choice) {
  return decide_terminal(facts(environment, is_terminal), choice, false).color;
}

TEST(Terminal, ColourOnATerminalUnlessUnwanted) {
  EXPECT_TRUE(color({}, true, ColorChoice::automatic));
  EXPECT_FALSE(color({}, false, ColorChoice::automatic));
  EXPECT_FALSE(color({{"NO_COLOR", "1"}}, true, ColorChoice::automatic));
  EXPECT_TRUE(color({{"NO_COLOR", ""}}, true, ColorChoice::automatic));
  EXPECT_FALSE(color({{"TERM", "dumb"}}, true, ColorChoice::automatic));
  EXPECT_TRUE(color({{"NO_COLOR", "1"}}, false, ColorChoice::always));
  EXPECT_FALSE(color({}, true, ColorChoice::never));
}

TEST(Terminal, SignsObeyIt) {
  EXPECT_EQ(good_sign({.unicode = true}), "✓");
  EXPECT_EQ(bad_sign({.unicode = false}), "FAIL");
  EXPECT_EQ(bad_sign({.unicode = false, .color = true}), "\x1b[1;31mFAIL\x1b[0m");
}

}  // namespace
}  // namespace holdfast::tools
