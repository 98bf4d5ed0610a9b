// Decisions: everything in a run that may go one way or another, by name.
//
// Whatever is drawn is drawn from an Rng of the world: latencies, hold times, when a fault acts, which ready
// task goes on. A decision is named by its stream ("link/c1/r1/request", "fault/cut#2", "order") and its
// number in it, from 0. So a run is its scenario, its seed, and what differs from what the seed gives: single
// decisions that are fixed, and moments from which on all streams are drawn anew. Fixing or dropping one
// leaves the others as they were. (Hypothesis calls such a list a choice sequence: MacIver and Donaldson,
// Test-Case Reduction via Test-Case Generation, ECOOP 2020.)
//
// Thread safety: one world's, as the world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/rng.h"

namespace holdfast::sim {

// One draw.
struct Drawn {
  // word: 64 random bits, no number is simpler than another. chance: 0 or 1, whether something happens.
  enum class Kind : std::uint8_t { word, number, chance };
  Kind kind = Kind::number;
  std::uint64_t low = 0, high = 0;  // both may be drawn
  std::uint64_t value = 0;
  friend bool operator==(const Drawn&, const Drawn&) = default;
};

// What differs from what the seed gives.
struct Changes {
  // By stream and number. A value that cannot be drawn there any more becomes the nearest that can.
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> fixed = {};
  // From that moment of the world's clock on all streams are drawn anew, each from that seed and its name.
  struct Reseed {
    std::int64_t at_ns = 0;
    std::uint64_t seed = 0;
    friend bool operator==(const Reseed&, const Reseed&) = default;
  };
  std::vector<Reseed> reseeds = {};  // by moment, ascending

  bool empty() const { return fixed.empty() && reseeds.empty(); }
  friend bool operator==(const Changes&, const Changes&) = default;
};

class Decisions;
class Past;

class DecisionStream {
 public:
  DecisionStream(Decisions& all, std::string name);
  const std::string& name() const { return name_; }
  DecisionStream& child(std::string_view name);

  void renew(Rng& rng);  // where a reseed has come since its last draw
  // What the draw comes to: its own value, or the one that is fixed.
  std::uint64_t settle(const Drawn& drawn, std::uint64_t number);

 private:
  Decisions& all_;
  const std::string name_;
  const std::map<std::uint64_t, std::uint64_t>* const fixed_;  // null: none of this stream
  std::vector<Drawn>* const kept_;                             // null: nobody asked
};

class Decisions {
 public:
  // keep: drawn() has all that was drawn.
  explicit Decisions(Changes changes = {}, bool keep = false) : changes_(std::move(changes)), keep_(keep) {}
  Decisions(const Decisions&) = delete;
  Decisions& operator=(const Decisions&) = delete;

  // The world's stream of that name. REQUIRES: `now`, of the world's clock, was given if there are reseeds.
  Rng stream(std::uint64_t seed, std::string_view name);
  void clock(std::function<std::int64_t()> now_ns) { now_ns_ = std::move(now_ns); }
  // Asked what each draw comes to, unless it is fixed: the stream's name, its number, and what the seed
  // gives. The answer becomes the nearest value that can be drawn.
  using Steer = std::function<std::uint64_t(const std::string& stream, std::uint64_t number, const Drawn&)>;
  void steer(Steer steer) { steer_ = std::move(steer); }
  // The embedded world that draws from these keeps it (past.h). It outlives the world.
  void keep_past(Past& past) { past_ = &past; }
  Past* past() const { return past_; }  // null: nobody asked

  // By stream, in order of their numbers; streams that drew nothing are there, too.
  const std::map<std::string, std::vector<Drawn>>& drawn() const { return drawn_; }

 private:
  friend class DecisionStream;
  DecisionStream& named(const std::string& name);

  const Changes changes_;
  const bool keep_;
  Steer steer_;
  std::function<std::int64_t()> now_ns_;
  std::map<std::string, DecisionStream> streams_;
  std::map<std::string, std::vector<Drawn>> drawn_;
  Past* past_ = nullptr;
};

}  // namespace holdfast::sim
