// What `holdfast report` finds in a folder and below: results of `holdfast run --json`, runs that `--out`
// kept, results of `holdfast bench --json`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/bench_result.h"
#include "tools/holdfast/kept_run.h"

namespace holdfast::tools {

// A scenario or a variant of it, over its seeds: one case of a document of `run --json`.
struct ReportCase {
  struct Expected {
    std::string check, kind, result, explained;  // result: met | failed | unknown | not-judged
    bool violated = false;                       // what is expected
    std::uint64_t matching = 0, unknown = 0;     // runs
  };
  std::string file, scenario, variant, world;
  std::string lock;                 // "": an older holdfast wrote it, which did not say
  std::vector<std::string> faults;  // kinds, each once
  std::uint64_t runs = 0, planned = 0, violated_runs = 0, grants = 0, waits = 0;
  std::vector<Expected> expected;
  bool unexpected = false, cut = false;
  std::string error, reproduce;
  std::optional<std::size_t> story;  // of `runs`

  std::string title() const { return variant.empty() ? scenario : scenario + "/" + variant; }
  // Whether something other than `reached` was violated, as expected or not.
  bool violated() const { return violated_runs > 0; }
};

struct ReportRunFile {  // a document of `run --json`
  std::string path, world, trace;
  std::vector<ReportCase> cases;
  std::vector<std::string> not_run;  // "FILE: why"
};

struct ReportStory {  // a kept run
  std::string folder;
  KeptRun run;
  std::string story;     // "" there is no picture
  std::string timeline;  // a page, "" its history is gone
};

struct ReportData {
  std::string folder;
  std::vector<ReportRunFile> run_files;
  std::vector<ReportStory> stories;
  ReadResult bench;                   // of a row that is in several, the newest
  std::vector<std::string> compared;  // the two results, when rows are in several
  std::optional<ReadResult> before;   // the second newest of those rows
  std::optional<ReadResult> now;      // the newest of them
  std::vector<std::string> left_out;  // "FILE: why"
};

// Paths in it are relative to `folder`. Throws BadUsage: the file, what was expected, what to do.
ReportData read_report_data(const std::string& folder);

}  // namespace holdfast::tools
