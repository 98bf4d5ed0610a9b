#include "sim/redis/glob.h"

#include <algorithm>

namespace holdfast::sim::embedded {
namespace {

// Takes a class off the pattern, which stands behind its '['. An unterminated one takes all.
bool class_matches(std::string_view& p, char byte) {
  const bool negated = p.starts_with('^');
  if (negated) p.remove_prefix(1);
  bool found = false;
  while (!p.empty() && p[0] != ']') {
    if (p[0] == '\\' && p.size() >= 2) {
      found = found || p[1] == byte;
      p.remove_prefix(2);
    } else if (p.size() >= 3 && p[1] == '-') {
      const auto [low, high] =
          std::minmax({static_cast<unsigned char>(p[0]), static_cast<unsigned char>(p[2])});
      const auto value = static_cast<unsigned char>(byte);
      found = found || (value >= low && value <= high);
      p.remove_prefix(3);
    } else {
      found = found || p[0] == byte;
      p.remove_prefix(1);
    }
  }
  if (!p.empty()) p.remove_prefix(1);  // the ']'
  return found != negated;
}

// Takes one element, which is not a star, off the pattern. True when it matches the byte.
bool element_matches(std::string_view& p, char byte) {
  const char first = p[0];
  p.remove_prefix(1);
  if (first == '?') return true;
  if (first == '[') return class_matches(p, byte);
  if (first != '\\' || p.empty()) return first == byte;
  const char escaped = p[0];
  p.remove_prefix(1);
  return escaped == byte;
}

}  // namespace

bool glob_match(std::string_view p, std::string_view text, std::size_t* steps) {
  bool starred = false;
  std::string_view behind_star, text_at_star;
  while (!text.empty()) {
    if (steps != nullptr) ++*steps;
    if (p.starts_with('*')) {
      p.remove_prefix(std::min(p.find_first_not_of('*'), p.size()));
      if (p.empty()) return true;
      starred = true;
      behind_star = p;
      text_at_star = text;
    } else if (!p.empty() && element_matches(p, text[0])) {
      text.remove_prefix(1);
    } else if (starred) {  // the last star takes one byte more
      text_at_star.remove_prefix(1);
      text = text_at_star;
      p = behind_star;
    } else {
      return false;
    }
  }
  return p.find_first_not_of('*') == std::string_view::npos;
}

}  // namespace holdfast::sim::embedded
