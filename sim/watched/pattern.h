// Patterns on commands: what a lock that nobody here wrote says to Redis, and what the answers mean.
//
// A word of a pattern is literal text, "*" (any word), or text around one hole: "$key", "lock:$key".
//
//   $key      the lock                 $lease    its lease in milliseconds    $permits  how many it takes
//   $owner    who asks                 $lease_s  its lease in seconds         $limit    how many there are
//
// A hole that stands twice has one value. Letters of literal text match in either case.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/reply.h"
#include "lib/runtime/time.h"

namespace holdfast::sim {

using Words = std::vector<std::string_view>;
using Filled = std::map<std::string_view, std::string_view>;  // by name of the hole

// Throws std::invalid_argument: a hole that does not exist, or two in one word.
class WordPattern {
 public:
  explicit WordPattern(std::string text);
  bool matches(std::string_view word, Filled& filled) const;
  std::string_view hole() const { return hole_; }  // "key"; "": none

 private:
  std::string before_, after_;
  std::string_view hole_;
  bool any_ = false;
};

// Words one after the other, then groups of words in any order. "..." at the end: whatever else follows.
struct LinePattern {
  std::vector<WordPattern> words;
  std::vector<std::vector<WordPattern>> options;
  bool open = false;
  // What is in the holes; nullopt: it does not match. O(words * options).
  std::optional<Filled> match(const Words& line) const;
};

// Of a line: "SET $key $owner". Throws std::invalid_argument.
LinePattern parse_line(std::string_view text, const std::vector<std::string>& options = {});

// Which answers: a text (of a status, a bulk or a number), "nil", "number", "text", "list", "> 0", "error";
// "[1]": a list that begins with 1.
class AnswerPattern {
 public:
  explicit AnswerPattern(std::string text) : text_(std::move(text)) {}
  bool matches(const redis::Reply& answer) const;

 private:
  std::string text_;
};

// A command as it was sent. Of a call of a script or a function its text is known, or "".
struct WatchedCommand {
  Words words = {};
  bool calls_script = false;
  std::string_view script = {};  // in lower case, blanks taken out
  Words keys = {}, args = {};
};

struct LockPattern {
  enum class Does : std::uint8_t { acquire, extend, release };
  Does does = Does::acquire;
  std::optional<LinePattern> command = {};                // a plain command; else a call of a script
  std::vector<std::string> script = {}, not_script = {};  // its text has all of these and none of those
  LinePattern keys = {}, args = {};
  std::vector<AnswerPattern> done = {}, refused = {};  // what neither knows: nobody knows
  std::optional<Duration> lease = {};                  // where no word says it
  bool shared = false;                                 // others may have it beside this one

  // nullopt: it is no such command.
  std::optional<Filled> match(const WatchedCommand& sent) const;
  bool says_done(const redis::Reply& answer) const;
  bool says_refused(const redis::Reply& answer) const;
};

// A layout that is known by its traffic. The first pattern that fits a command counts.
struct Recogniser {
  std::string name, about;
  bool counts = false;    // who has it may take it again, and gives it back as often
  bool majority = false;  // of several servers most must grant, extend and release; not with `counts`
  std::vector<LockPattern> patterns;
};

// As LockPattern::script compares: lower case, no blanks.
std::string squeezed(std::string_view script);

}  // namespace holdfast::sim
