// Ballot: one request that goes to several servers, and counts when most of them say yes (Redlock).
//
// An attempt asks each server once. A server that is asked although it has answered begins another attempt;
// one that has not answered yet is asked again by a client that lost its connection, within the same one.
// Votes of an earlier attempt that come late count for nothing: whoever counts them has given up on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::sim {

enum class Vote : std::uint8_t { yes, no, unclear };

class Ballot {
 public:
  enum class Outcome : std::uint8_t { open, yes, no, unclear };

  // `servers`: all that there are, whether they are asked or not. REQUIRES: above 0.
  explicit Ballot(std::size_t servers) : servers_(servers) {}
  Ballot() : Ballot(1) {}

  // Returns the number of the attempt, which is never 0.
  std::uint64_t asks(std::string_view server, std::int64_t at_ns);
  // It will be asked again, in the same attempt.
  void takes_back(std::string_view server, std::uint64_t attempt);
  // The outcome if this answer decides the attempt; else, and of an earlier attempt, `open`.
  Outcome counts(std::string_view server, std::uint64_t attempt, Vote vote);

  bool decided() const { return decided_; }               // of the present attempt
  std::int64_t asked_first_ns() const { return since_; }  // of the present attempt

 private:
  struct Server {
    bool answered = false;
    Vote vote = Vote::no;
  };
  Outcome outcome() const;

  std::size_t servers_;
  std::uint64_t attempt_ = 0;
  std::int64_t since_ = 0;
  bool decided_ = false;
  std::map<std::string, Server, std::less<>> asked_;  // in the present attempt
};

}  // namespace holdfast::sim
