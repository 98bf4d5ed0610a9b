// A shard of `holdfast run` as a document, and all shards as one run again.
//
// The report of a shard (`run --shard K/N --json FILE`) has a member "shard": what was asked, each case with
// its expectations, what its runs came to, and the trace of each. So shards are merged without the scenario
// files, and by the code that reports of one run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/holdfast/json_file.h"
#include "tools/holdfast/run_plan.h"

namespace holdfast::tools {

Json shard_json(const Plan& plan, const RunArguments& arguments, double seconds);

bool is_run(const Json& document);
bool is_run_shard(const Json& document);

struct ReadRun {
  std::string path;
  Json document;
};

// What one run of everything would have known.
struct MergedRun {
  RunArguments arguments;  // of it: what reports need
  Plan plan;
  std::uint64_t trace = 0;
  double seconds = 0;  // of the longest shard
};

// Throws BadUsage for what does not fit together. REQUIRES: not empty
MergedRun merge_runs(const std::vector<ReadRun>& runs);

}  // namespace holdfast::tools
