// Coverage: what a run came through that no run before it did.
//
// A feature is something that happened: a mark; one thing after another at one lock (a grant after the loss
// of another's, a renewal beside a removal), by the same party or another; one thing, or one mark, while a
// kind of fault acts; a mark after a fault that was over at once; how many hold and wait; and what happened
// inside the servers (server_watch.h). Features are hashes: what they mean is forgotten.
//
// Source: AFL's edges (Zalewski, 2014), of what happened instead of code.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::sim {

struct Feature {
  std::uint64_t hash = 0;
  std::int64_t at_ns = 0;  // when it first showed, on the world's clock
};

// Each once, by moment. O(events * faults that act at one time).
std::vector<Feature> features_of(const checker::History& history);
// Both, by moment. REQUIRES: each is so; none is in both.
std::vector<Feature> join(const std::vector<Feature>& a, const std::vector<Feature>& b);

class Coverage {
 public:
  struct Seen {
    std::uint64_t runs = 0;   // that came through it
    std::uint64_t first = 0;  // of them
  };

  // Those that are new; they count as seen from now on. `run`: its number. REQUIRES: a run's features once.
  std::vector<Feature> add(const std::vector<Feature>& features, std::uint64_t run = 0);
  // What others came through. Of a feature that both saw, runs are added and the lower first one counts.
  void join(const Coverage& other);
  void put(std::uint64_t hash, const Seen& seen);  // REQUIRES: it is not there yet

  std::size_t size() const { return seen_.size(); }
  std::uint64_t singletons() const { return singletons_; }  // that one run only came through
  const std::map<std::uint64_t, Seen>& seen() const { return seen_; }

 private:
  std::map<std::uint64_t, Seen> seen_;
  std::uint64_t singletons_ = 0;
};

}  // namespace holdfast::sim
