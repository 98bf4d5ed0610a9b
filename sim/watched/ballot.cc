#include "sim/watched/ballot.h"

namespace holdfast::sim {

std::uint64_t Ballot::asks(std::string_view server, std::int64_t at_ns) {
  const auto found = asked_.find(server);
  if (attempt_ == 0 || (found != asked_.end() && found->second.answered)) {
    ++attempt_;
    since_ = at_ns;
    decided_ = false;
    asked_.clear();
  }
  asked_.try_emplace(std::string(server));
  return attempt_;
}

void Ballot::takes_back(std::string_view server, std::uint64_t attempt) {
  if (attempt != attempt_) return;
  if (const auto found = asked_.find(server); found != asked_.end()) found->second.answered = false;
}

Ballot::Outcome Ballot::counts(std::string_view server, std::uint64_t attempt, Vote vote) {
  const auto found = asked_.find(server);
  if (attempt != attempt_ || found == asked_.end()) return Outcome::open;
  found->second = {.answered = true, .vote = vote};
  if (decided_) return Outcome::open;
  const Outcome now = outcome();
  decided_ = now != Outcome::open;
  return now;
}

Ballot::Outcome Ballot::outcome() const {
  const std::size_t majority = servers_ / 2 + 1;
  std::size_t yes = 0, no = 0, unclear = 0;
  for (const auto& [name, server] : asked_) {
    if (!server.answered) continue;
    ++(server.vote == Vote::yes ? yes : server.vote == Vote::no ? no : unclear);
  }
  if (yes >= majority) return Outcome::yes;
  if (no > servers_ - majority) return Outcome::no;
  return yes + no + unclear >= servers_ ? Outcome::unclear : Outcome::open;
}

}  // namespace holdfast::sim
