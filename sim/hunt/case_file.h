// What is written of a case: its scenario file, and its decisions beside it.
#pragma once

#include <string>
#include <string_view>

#include "sim/hunt/ground.h"
#include "sim/hunt/shrink.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

// A find as a scenario file that people keep: what happens, its expectations, and variants in which the
// promise holds: without one of its faults, and with a lock of ours in its place. Runs some cases to know.
struct CaseFile {
  std::string name;  // without ".toml"
  std::string toml;
  std::string decisions;    // "" the seeds of the file are enough
  bool controlled = false;  // it has a variant in which the promise holds
};

// A check that looks into the servers, which real ones do not let anybody do: `truth`.
bool of_embedded_servers(std::string_view check);

// `story`: lines of comment, "" none. Below them stands what real servers make of it.
CaseFile case_file(const Ground& ground, const Shrunk& shrunk, const Failure& failure,
                   const std::string& story);
// One more line of its comment, the last.
void add_comment(CaseFile& file, const std::string& line);
// A run that the harness could not end, as it was. REQUIRES: failure.of_harness()
CaseFile case_file_of_harness(const HuntCase& one, const Failure& failure);

// The lock of ours that does what this kind does: of a wrong version the right one. "": there is none,
// or it is one itself.
std::string ours_for(const LockKind& kind);

// What differs from what a seed gives, one line each:
//
//   seed 7
//   reseed 1500000000 42                  from that nanosecond on all streams are drawn anew, from that seed
//   fix link/c1/r1/request 3 1000000      the fourth draw of that stream
//
// "#" begins a comment.
struct DecisionsFile {
  std::uint64_t seed = 1;
  Changes changes;
};
std::string to_text(const DecisionsFile& decisions);
// Throws BadScenario with file and line.
DecisionsFile parse_decisions(std::string_view text, const std::string& file);
DecisionsFile read_decisions(const std::string& path);

}  // namespace holdfast::sim
