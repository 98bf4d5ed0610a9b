// Kept run: one run as a folder below --out, and back again.
//
//   history.jsonl   what was asked, then everything that happened (`holdfast check` reads it)
//   timeline.html   the same as a page
//   story.txt       the violation as a picture, when there is one
//   run.json        what was run, what was found, the line that runs it again
//   *.log           of real servers
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checker/checks/questions.h"
#include "checker/history/history.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

struct KeptVerdict {
  std::string check, wanted;  // "lease-exclusion", "lease-exclusion is violated (double-grant) on all seeds"
  std::string kind;           // the violation that is expected, "" any or none
  std::string outcome, reason;  // of this run
  std::vector<checker::Witness> witnesses;
  std::uint64_t violations = 0;  // in all; witnesses may be fewer
};

// What run.json says.
struct KeptRun {
  std::string file, scenario, variant, about, world, reproduce;
  std::string lock;                 // its kind; "" an older holdfast wrote it
  std::vector<std::string> faults;  // the kinds that may act, each once
  std::uint64_t seed = 0;
  std::string decisions;  // the file of them, "" none
  std::string trace;
  bool reentrant = false;
  std::string shop;                   // what it cost, "" nothing was sold
  checker::Questions questions = {};  // written to the header of the history; run.json has none
  std::vector<KeptVerdict> verdicts;
  std::optional<std::size_t> told;  // the verdict that this run was kept for
  bool expected = false;            // the file expects it

  std::string title() const;  // "storm/fair, seed 7"
};

// The picture and its lines, as wide and as colourful as the terminal is. "" when there is nothing to tell.
std::string story_of(const KeptRun& run, const checker::History& history, const Terminal& terminal);
// The page. It opens at the violation that this run was kept for.
std::string timeline_of(const KeptRun& run, const checker::History& history);

// Writes what can be written, what is needed most first. Throws OutputError when something could not; without
// run.json the folder is no kept run.
void write_kept_run(const std::string& folder, const KeptRun& run, const checker::History& history);

// nullopt: `folder` is none. Throws BadUsage when it is one and is broken.
std::optional<KeptRun> read_kept_run(const std::string& folder);

// The folders of kept runs in `folder` and below, by path.
std::vector<std::string> kept_below(const std::string& folder);

}  // namespace holdfast::tools
