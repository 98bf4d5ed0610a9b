// Secrets: what a scenario gives to its programs and nobody else is to read. A program may print anything, so
// that its logs, its last words and its errors are masked before they are kept or told.
//
// A secret is the value of a variable whose name says so (PASSWORD, TOKEN, ...), and the password in any URL.
// The latter is masked in any URL, also when no scenario gave it. Less than four letters are no secret.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

class Secrets {
 public:
  // A variable that programs have, or (without a name) one of their arguments.
  void learn(std::string_view name, std::string_view value);
  // `text` with *** in place of each secret. A secret that is cut in two by the end of `text` is not seen.
  std::string masked(std::string text) const;

 private:
  void add(std::string secret);
  std::vector<std::string> all_;  // longest first
};

}  // namespace holdfast::sim
