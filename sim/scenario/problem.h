// Problem: what is wrong with a file that a person wrote, where, and what to do about it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

struct Position {
  std::string file;
  int line = 0;    // from 1; 0: the file as a whole
  int column = 0;  // from 1

  std::string to_string() const;  // "file:line:column"
};

// The first problem of a file. what() is the whole line: "file:line:column: message, expected ..., did you
// mean ...?"
class BadScenario : public std::runtime_error {
 public:
  BadScenario(Position at, const std::string& message)
      : std::runtime_error(at.to_string() + ": " + message), at_(std::move(at)), message_(message) {}
  const Position& at() const { return at_; }
  const std::string& message() const { return message_; }  // without the position

 private:
  Position at_;
  std::string message_;
};

// ", did you mean `x`?" for the closest of `known` (by edit distance, at most a third of the length), else
// "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// "`a`, `b` or `c`"
std::string one_of(const std::vector<std::string>& known);

}  // namespace holdfast::sim
