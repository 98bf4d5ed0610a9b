// Steered: one run of an exploration, each decision of which a chooser settles; what it came to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/explore/explore.h"
#include "sim/world/past.h"

namespace holdfast::sim {

// A decision in words.
struct Noted {
  enum class Kind : std::uint8_t { order, time, chance, place };
  Kind kind = Kind::order;
  std::string stream;  // that draws it, and the number there; of a place: of the fault, and which place
  std::uint64_t number = 0;
  std::int64_t at_ns = 0;                  // on the world's clock
  std::vector<std::uint64_t> values = {};  // of a time: the usual one first
  std::vector<std::string> tasks = {};     // of an order: who can go first, the usual one first
};

class Steered {
 public:
  // `noted`: has each decision, in the order in which the chooser was asked; null: nobody wants to know.
  // `parsed`: the document of `one`; null: it is parsed here.
  Steered(const HuntCase& one, const ExploreOptions& options, Chooser& chooser,
          std::vector<Noted>* noted = nullptr, const Scenario* parsed = nullptr);
  Steered(const Steered&) = delete;
  Steered& operator=(const Steered&) = delete;

  Trial& trial() { return trial_; }  // nothing, if the run ended where another had been
  std::uint64_t history() const { return history_; }
  // All decisions of the run, so that it goes this way without a chooser.
  Changes changes() const { return {.fixed = settled_}; }
  const std::vector<Otherwise>& otherwise() const { return otherwise_; }
  const std::map<std::string, ExploreState::Values>& values() const { return values_; }
  std::int64_t begin_ns() const { return begin_ns_; }  // of its history, on the world's clock

 private:
  std::uint64_t settle(const std::string& stream, std::uint64_t number, const Drawn& drawn);
  std::uint64_t order(std::uint64_t number, const Drawn& drawn);
  std::uint64_t place(const std::string& stream, const Drawn& drawn);
  void note(Noted::Kind kind, const std::string& stream, std::uint64_t number,
            std::vector<std::uint64_t> values = {}, std::vector<std::string> tasks = {});
  // The values that a draw may come to, the usual one first. One value: it is no decision.
  std::vector<std::uint64_t> values_of(const std::string& stream, const Drawn& drawn) const;

  const ExploreOptions& options_;
  Chooser& chooser_;
  std::vector<Noted>* const noted_;
  Past past_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> settled_;
  std::vector<Otherwise> otherwise_;
  std::map<std::string, ExploreState::Values> values_;
  std::uint64_t history_ = 0;
  std::int64_t begin_ns_ = 0;
  Trial trial_;
};

}  // namespace holdfast::sim
