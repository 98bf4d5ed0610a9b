#include "sim/redis/glob.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/world/rng.h"

namespace holdfast::sim::embedded {
namespace {

// The definition, without care for time: a star is tried at every length.
struct Element {
  enum class Kind { star, any, bytes } kind;
  std::vector<bool> bytes = std::vector<bool>(256, false);
};

std::vector<Element> parse(const std::string& p) {
  std::vector<Element> all;
  const auto byte = [](char c) { return static_cast<unsigned char>(c); };
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == '*') {
      all.push_back({Element::Kind::star});
    } else if (p[i] == '?') {
      all.push_back({Element::Kind::any});
    } else if (p[i] == '[') {
      Element set{Element::Kind::bytes};
      bool negated = false;
      if (i + 1 < p.size() && p[i + 1] == '^') negated = true, ++i;
      for (++i; i < p.size() && p[i] != ']'; ++i) {
        if (p[i] == '\\' && i + 1 < p.size()) {
          set.bytes[byte(p[++i])] = true;
        } else if (i + 2 < p.size() && p[i + 1] == '-') {
          for (int c = std::min(byte(p[i]), byte(p[i + 2])); c <= std::max(byte(p[i]), byte(p[i + 2])); ++c)
            set.bytes[static_cast<std::size_t>(c)] = true;
          i += 2;
        } else {
          set.bytes[byte(p[i])] = true;
        }
      }
      if (negated) set.bytes.flip();
      all.push_back(set);
    } else {
      Element one{Element::Kind::bytes};
      if (p[i] == '\\' && i + 1 < p.size()) ++i;
      one.bytes[byte(p[i])] = true;
      all.push_back(one);
    }
  }
  return all;
}

bool defined_to_match(const std::vector<Element>& p, std::size_t i, const std::string& s, std::size_t k) {
  if (i == p.size()) return k == s.size();
  if (p[i].kind == Element::Kind::star) {
    for (std::size_t to = k; to <= s.size(); ++to) {
      if (defined_to_match(p, i + 1, s, to)) return true;
    }
    return false;
  }
  if (k == s.size()) return false;
  return (p[i].kind == Element::Kind::any || p[i].bytes[static_cast<unsigned char>(s[k])]) &&
         defined_to_match(p, i + 1, s, k + 1);
}

TEST(Glob, AgreesWithItsDefinition) {
  Rng rng(20'261'122);
  const auto drawn = [&](std::string_view letters, std::uint64_t most) {
    std::string text(rng.between(0, most), ' ');
    for (char& c : text) c = letters[rng.between(0, letters.size() - 1)];
    return text;
  };
  int matched = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::string pattern = drawn("***abc??[]^-\\", 9);
    const std::string text = drawn("aabc-]\\^*", 7);
    const bool wanted = defined_to_match(parse(pattern), 0, text, 0);
    matched += wanted ? 1 : 0;
    ASSERT_EQ(glob_match(pattern, text), wanted) << "pattern " << pattern << " text " << text;
  }
  EXPECT_GT(matched, 10'000);  // not all of one kind
}

TEST(Glob, AHostilePatternTakesAtMostItsProductOfSteps) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  pattern += "*b";
  const std::string text(4000, 'a');
  std::size_t steps = 0;
  EXPECT_FALSE(glob_match(pattern, text, &steps));
  EXPECT_LE(steps, (pattern.size() + 1) * (text.size() + 1));
  steps = 0;
  EXPECT_FALSE(glob_match("*" + std::string(2000, 'a') + "b", text, &steps));
  EXPECT_LE(steps, 2003u * (text.size() + 1));
}

}  // namespace
}  // namespace holdfast::sim::embedded
