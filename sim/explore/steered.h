// Steered: one run of an exploration, each decision of which a chooser settles; what it came to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/explore/explore.h"
#include "sim/world/past.h"

namespace holdfast::sim {

class Steered {
 public:
  Steered(const HuntCase& one, const ExploreOptions& options, Chooser& chooser);
  Steered(const Steered&) = delete;
  Steered& operator=(const Steered&) = delete;

  Trial& trial() { return trial_; }  // nothing, if the run ended where another had been
  std::uint64_t history() const { return history_; }
  // All decisions of the run, so that it goes this way without a chooser.
  Changes changes() const { return {.fixed = settled_}; }
  const std::vector<Otherwise>& otherwise() const { return otherwise_; }
  const std::map<std::string, ExploreState::Values>& values() const { return values_; }

 private:
  std::uint64_t settle(const std::string& stream, std::uint64_t number, const Drawn& drawn);
  std::uint64_t order(std::uint64_t number, const Drawn& drawn);
  std::uint64_t place(const std::string& stream, const Drawn& drawn);
  // The values that a draw may come to, the usual one first. One value: it is no decision.
  std::vector<std::uint64_t> values_of(const std::string& stream, const Drawn& drawn) const;

  const ExploreOptions& options_;
  Chooser& chooser_;
  Past past_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> settled_;
  std::vector<Otherwise> otherwise_;
  std::map<std::string, ExploreState::Values> values_;
  std::uint64_t history_ = 0;
  Trial trial_;
};

}  // namespace holdfast::sim
