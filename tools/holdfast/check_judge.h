// Judges one history for `holdfast check`: loads it (check_load.h), plans model and checks (check_plan.h),
// runs them, and gathers verdicts and findings (check_findings.h). Pictures show the events of a HistoryView
// (check_view.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/checks/questions.h"
#include "checker/checks/summary.h"
#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"
#include "checker/story/timeline.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

struct CheckArguments {
  std::vector<std::string> files;   // "-": standard input
  std::string model;                // "": guessed from the history
  std::vector<std::string> checks;  // empty: those of the run, and those that are usual for the model
  std::string expect;               // a file with the questions of a run, instead of the header; "": none
  std::optional<checker::Format> format;
  bool keyed = false;
  std::vector<std::string> ignored;  // functions whose events do not matter
  checker::Engine engine = checker::Engine::automatic;
  std::string init = "nil";
  std::int64_t permits = 0;                              // semaphore; 0: not said
  std::int64_t entries = 0;                              // reentrant locks; 0: no bound
  std::int64_t overtakes = 0;                            // fair-order
  unsigned memory_mb = 1024;                             // of a search
  std::optional<std::chrono::nanoseconds> timeout = {};  // of judging one history
  std::string timeline;                                  // a file, or ""
  std::string witness;                                   // a file, or ""
  Terminal terminal = {};
  std::string json;  // "": none, "-": standard output, else a file
  bool keep_going = false;
  bool follow = false;  // while the history grows
};

// One violation.
struct Finding {
  std::string check;
  std::string at;  // "index 1995: acquire of process 18 completes while process 2 holds since index 1991"
  std::uint64_t index = 0;                   // of the first violating event
  std::optional<std::uint64_t> holder = {};  // index of the completion that began the hold that it breaks
  std::string process = {}, holder_process = {};
  checker::Witness witness;                 // positions in `Checked::history`
  std::vector<std::uint64_t> indices = {};  // the indices of its events in the file
  checker::ReadHistory smallest = {};       // the witness as a history of its own
  bool pictured =
      true;  // false: `witness` has positions of the file, for `Checked::history` lacks its events
};

struct CheckLine {
  std::string name;
  checker::Outcome outcome = checker::Outcome::unknown;
  std::string reason;
  std::uint64_t violations = 0;
  bool counts = true;          // false: a usual check for which the history lacks a field
  bool repeats = false;        // the line of the same check before it, with another expectation
  bool of_some_seeds = false;  // it was expected of a share of the seeds, not of each
  std::string wanted = {};     // what was expected of it, "" nothing: "violated (double-grant)"
  checker::Question::Answer answer = checker::Question::Answer::met;
};

struct Checked {
  std::string file;
  std::string error;  // why the file was refused (exit 64); nothing else is set then
  checker::Format format = checker::Format::jsonl;
  std::string run;               // whose questions its header has, "storm/fair, seed 7"; "": it has none
  std::string model, why_model;  // why_model: of a guessed one: what speaks for it
  bool reentrant = false;
  checker::Outcome outcome = checker::Outcome::unknown;
  std::optional<checker::Question::Answer> as_expected;  // --expect: of all its questions together
  std::vector<CheckLine> lines;
  std::vector<Finding> findings;  // by check; of linearizable the first of each violated key
  std::vector<std::pair<std::string, checker::Outcome>> bad_keys;  // keys that do not hold
  std::size_t keys = 0, operations = 0, by_linear = 0, by_search = 0;
  std::uint64_t events = 0, skipped = 0;
  std::string first_skipped;
  std::vector<std::string> doubts;  // why the outcome is unknown whatever the checks say
  std::vector<std::string> notes;   // what the reader should know of the file
  checker::Summary summary;
  bool interrupted = false;  // it was followed until Ctrl-C
  bool whole = true;         // false: a huge history; its summary counts operations and nothing else
  // For pictures: all events, or of a huge history those around the first violation.
  checker::History history;
  std::vector<std::uint64_t> index;
  double read_seconds = 0, judge_seconds = 0;
};

// Throws BadUsage for wrong arguments. Reads no history.
void require_sane(const CheckArguments& arguments);

// What was asked and what came out, for a page: the checks that count, with the findings that can be drawn.
std::vector<checker::NamedVerdict> verdicts_of(const Checked& checked);

// Does not throw for a bad file: `error` says what is wrong.
Checked check_history(const std::string& file, const CheckArguments& arguments);

}  // namespace holdfast::tools
