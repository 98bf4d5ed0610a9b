// What `holdfast check` does with one history: read it, judge it, gather what is to be told of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/checks/check.h"
#include "checker/checks/summary.h"
#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"

namespace holdfast::tools {

struct CheckArguments {
  std::vector<std::string> files;   // "-": standard input
  std::string model;                // "": by what the history has
  std::vector<std::string> checks;  // empty: the usual ones
  std::optional<checker::Format> format;
  bool keyed = false;
  checker::Engine engine = checker::Engine::automatic;
  std::string init = "nil";
  std::int64_t permits = 1;    // semaphore
  std::int64_t entries = 0;    // reentrant locks; 0: no bound
  std::int64_t overtakes = 0;  // fair-order
  unsigned memory_mb = 1024;   // of a search
  std::string timeline;        // a file, or ""
  std::string witness;         // a file, or ""
  bool ascii = false;
  std::string json;  // "": none, "-": standard output, else a file
  bool keep_going = false;
};

// One violation.
struct Finding {
  std::string check;
  std::string at;  // "index 1995: acquire of process 18 completes while process 2 holds since index 1991"
  std::uint64_t index = 0;                   // of the first violating event
  std::optional<std::uint64_t> holder = {};  // index of the completion that began the hold it breaks
  std::string process = {}, holder_process = {};
  checker::Witness witness;                 // positions in `Checked::history`
  std::vector<std::uint64_t> indices = {};  // of the witness, as the file says
  checker::ReadHistory smallest = {};       // the witness as a history of its own
};

struct CheckLine {
  std::string name;
  checker::Outcome outcome = checker::Outcome::unknown;
  std::string reason;
  std::uint64_t violations = 0;
  bool counts = true;  // false: one of the usual checks, for which the history lacks a field
};

struct Checked {
  std::string file;
  std::string error;  // why it could not be read (exit 64); nothing else is set then
  checker::Format format = checker::Format::jsonl;
  std::string model;
  bool reentrant = false;
  checker::Outcome outcome = checker::Outcome::unknown;
  std::vector<CheckLine> lines;
  std::vector<Finding> findings;  // the first of each violated key, by index; then of the other checks
  std::vector<std::pair<std::string, checker::Outcome>> bad_keys;  // those that do not hold
  std::size_t keys = 0, operations = 0, by_linear = 0, by_search = 0;
  std::uint64_t events = 0, skipped = 0;
  std::string first_skipped;
  checker::Summary summary;
  bool whole = true;  // false: a huge history, of which the summary has the counts of operations alone
  // For pictures, where somebody wants one: the whole, or of a huge history what is around the violation.
  checker::History history;
  std::vector<std::uint64_t> index;
  double read_seconds = 0, judge_seconds = 0;
};

// Throws BadUsage for what is wrong with the arguments (before anything is read).
void require_sane(const CheckArguments& arguments);

// The findings for pictures: of two that tell of one grant, the one that tells more.
std::vector<const Finding*> pictured(const Checked& checked);

// Never throws for what is wrong with the file: `error` says it.
Checked check_history(const std::string& file, const CheckArguments& arguments);

}  // namespace holdfast::tools
