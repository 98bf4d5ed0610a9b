// Trial: one case of a hunt, run and looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/hunt/coverage.h"
#include "sim/scenario/run.h"
#include "sim/world/decisions.h"

namespace holdfast::sim {

// What a hunt runs: all of it decides the run, and nothing else does.
struct HuntCase {
  Value document;  // a scenario without variants
  std::uint64_t seed = 1;
  Changes changes = {};
};

// A promise that was broken. Violations with one name are one find.
struct Failure {
  std::string check;  // "lease-exclusion"; "" the run itself failed: a defect of the harness
  std::string kind;   // "double-grant"
  std::string shape;  // what happened between: "promoted", "two nodes", "answer lost"; "" nothing known
  std::string why;    // of this very run

  bool of_harness() const { return check.empty(); }
  std::string promise() const {
    return (of_harness() ? "harness" : check) + (kind.empty() ? "" : "/" + kind);
  }
  std::string name() const { return promise() + (shape.empty() ? "" : " (" + shape + ")"); }
};

struct Trial {
  std::vector<Failure> failures;   // one for each check that is violated, in the order of the expectations
  std::vector<Feature> features;   // empty unless asked for
  std::vector<std::string> marks;  // that were hit, sorted
  std::vector<std::string> held;   // the checks that hold
  std::uint64_t trace = 0;
  std::int64_t length_ns = 0;
  std::uint64_t grants = 0;
  std::uint64_t role_changes = 0;  // during a claim: role_changes.h
  bool judged = true;              // every check had something to say

  bool shows(const std::string& promise) const;
  bool holds(const std::string& check) const;  // and had something to compare
};

struct TrialOptions {
  bool features = false;
  Decisions* decisions = nullptr;                   // in the place of the case's own changes
  const Scenario* parsed = nullptr;                 // the document, if it was parsed before
  std::function<void(const RunResult&)> look = {};  // told of a run that came to its end
};

// Runs it in the embedded world. Does not throw for what a run does: a run that ends by an error of the
// harness is a Failure without a check. REQUIRES: the document parses.
Trial try_case(const HuntCase& one, const TrialOptions& options = {});

// Runs it once more: a Failure without a check if it went another way than `trial` did.
std::optional<Failure> other_way(const HuntCase& one, const Trial& trial);

}  // namespace holdfast::sim
