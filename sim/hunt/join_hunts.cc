#include "sim/hunt/join_hunts.h"

#include <set>

#include "lib/runtime/check.h"
#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

// All but the trace and the corpus.
void add(HuntState& all, const HuntState& part) {
  all.runs += part.runs;
  all.virtual_ns += part.virtual_ns;
  all.grants += part.grants;
  all.role_changes += part.role_changes;
  all.unjudged += part.unjudged;
  for (const auto& [mark, runs] : part.marks) all.marks[mark] += runs;
  for (const auto& [name, find] : part.finds) {
    const auto [at, is_new] = all.finds.try_emplace(name, find);
    if (is_new) continue;
    const std::uint64_t count = at->second.count + find.count;
    if (find.run < at->second.run) at->second = find;
    at->second.count = count;
  }
  all.coverage.join(part.coverage);
  all.features = all.coverage.size();
  all.singletons = all.coverage.singletons();
}

}  // namespace

HuntState join_shards(const std::vector<HuntState>& shards) {
  HuntState all;
  for (const HuntState& shard : shards) {
    HF_CHECK(shard.traces.size() == shard.runs, "a shard has the trace of each of its runs");
    add(all, shard);
  }
  Trace trace;
  for (std::uint64_t run = 0; run < all.runs; ++run)
    trace.add(shards[run % shards.size()].traces.at(run / shards.size()));
  if (all.runs > 0) all.trace = trace.digest();
  // A run was new in something if it was the first that came through a feature.
  std::set<std::uint64_t> firsts;
  for (const auto& [hash, seen] : all.coverage.seen()) firsts.insert(seen.first);
  all.corpus = firsts.size();
  return all;
}

HuntState join_hunts(const std::vector<HuntState>& hunts) {
  HuntState all;
  Trace trace;
  for (const HuntState& one : hunts) {
    add(all, one);
    all.corpus += one.corpus;
    all.entries.insert(all.entries.end(), one.entries.begin(), one.entries.end());
    trace.add(one.trace);
  }
  all.trace = trace.digest();
  return all;
}

}  // namespace holdfast::sim
