#include "checker/story/text_layout.h"

#include <gtest/gtest.h>

namespace holdfast::checker {
namespace {

using Lines = std::vector<std::string>;

TEST(TextLayout, ShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(printable("stock:42"), "stock:42");
  EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\x0d");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u{9b}");                // a control sequence in one character
  EXPECT_EQ(printable("a\xe2\x80\xaegpj"), "a\\u{202e}gpj");  // turns text around
  EXPECT_EQ(printable("k\xe2\x80\x8b"), "k\\u{200b}");        // cannot be seen
  EXPECT_EQ(printable("::error::x ::debug::y a::b"), "\\x3a:error::x \\x3a:debug::y a::b");  // a CI log
  EXPECT_EQ(printable("a ##[error]x"), "a #\\x23[error]x");
  EXPECT_EQ(wrap("abcd::error::", 4, 2), "abcd\n  \\x3a:err\n  or::");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");                             // no UTF-8
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");  // overlong; a surrogate
}

TEST(TextLayout, KeepsUnicodeWhereItIsShown) {
  EXPECT_EQ(printable("Zürich 東京 🔒"), "Zürich 東京 🔒");
  EXPECT_EQ(printable("Zürich 🔒", false), "Z\\u{fc}rich \\u{1f512}");
}

TEST(TextLayout, CountsColumns) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("stock:42"), 8U);
  EXPECT_EQ(columns_of("Zürich"), 6U);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U);  // e and a combining accent
  EXPECT_EQ(columns_of("東京"), 4U);
  EXPECT_EQ(columns_of("█╳◄──"), 5U);
}

TEST(TextLayout, CutsToFit) {
  EXPECT_EQ(elided("stock:42", 8), "stock:42");
  EXPECT_EQ(elided("stock:42", 7), "stock:…");
  EXPECT_EQ(elided("stock:42", 7, false), "stoc...");
  EXPECT_EQ(elided("東京都", 4), "東…");
  EXPECT_EQ(padded("東京", 6), "東京  ");
  EXPECT_EQ(padded("stock", 3), "stock");
}

TEST(TextLayout, Wraps) {
  EXPECT_EQ(wrapped("", 5), Lines{""});
  EXPECT_EQ(wrapped("  a  bb ccc ", 4), (Lines{"a bb", "ccc"}));
  EXPECT_EQ(wrapped("abcdefghij k", 4), (Lines{"abcd", "efgh", "ij k"}));
  EXPECT_EQ(wrapped("ab cdefghij", 4), (Lines{"ab", "cdef", "ghij"}));
  EXPECT_EQ(wrapped("東京都", 1), (Lines{"東", "京", "都"}));  // wider than asked, but it ends
  EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three");
}

TEST(TextLayout, TakesColoursOut) {
  EXPECT_EQ(without_color("\x1b[1;31mDOUBLE\x1b[0m GRANT"), "DOUBLE GRANT");
  EXPECT_EQ(without_color("plain"), "plain");
}

}  // namespace
}  // namespace holdfast::checker
