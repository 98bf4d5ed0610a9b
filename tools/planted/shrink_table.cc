#include "tools/planted/shrink_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <optional>
#include <vector>

#include "sim/hunt/shrink.h"
#include "sim/hunt/shrink_decisions.h"
#include "sim/planted/large_case.h"
#include "sim/planted/planted.h"
#include "sim/world/rng.h"
#include "tools/holdfast/for_each.h"

namespace holdfast::tools {
namespace {

using sim::LargeCase;

// Published designs and wrong versions of ours, of every sort of record.
constexpr const char* kLocks[] = {"setnx-expire",
                                  "annotation",
                                  "lock-interface",
                                  "lock-interface-fair",
                                  "spring-registry",
                                  "redisson-3.13-reentrant",
                                  "redisson-3.13-fair",
                                  "redisson-3.13-semaphore",
                                  "redlock-classic",
                                  "planted-reentrant-renew-of-any-owner",
                                  "planted-reentrant-nearly-over-is-free",
                                  "planted-fenced-last-token-again",
                                  "planted-fair-dead-head-stays",
                                  "planted-read-write-live-readers-swept",
                                  "planted-redlock-vote-for-two"};

struct Row {
  const sim::LockKind* lock = nullptr;
  std::uint64_t number = 0;
  sim::LargeOptions asked;
  std::optional<LargeCase> large;
  sim::Shrunk shrunk;
};

// From a dozen faults and eight clients up to sixty and twenty; one in three goes on from a moment.
sim::LargeOptions sizes_of(const Row& row, std::uint64_t seed) {
  sim::Rng rng = sim::Rng::derive(seed, std::string(row.lock->name) + "/" + std::to_string(row.number));
  sim::LargeOptions options;
  options.seed = rng.next();
  options.faults = static_cast<std::size_t>(rng.between(12, 60));
  options.clients = rng.between(8, 20);
  options.goes_on = rng.chance(1, 3);
  return options;
}

std::string line_of(const Row& row) {
  const sim::Size before = size_of(row.large->one.document), after = size_of(row.shrunk.one.document);
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |", row.lock->name,
                     row.large->promise, before.faults, before.tasks, before.operations, after.faults,
                     after.tasks, after.operations, row.shrunk.seeds_of_20, count_of(row.shrunk.one.changes),
                     row.shrunk.runs);
}

template <class Get>
std::string middle_and_most(const std::vector<Row>& rows, const Get& get) {
  std::vector<std::uint64_t> values;
  for (const Row& row : rows) values.push_back(get(row));
  std::sort(values.begin(), values.end());
  return fmt::format("{} | {} | {}", values[(values.size() - 1) / 2], values[(values.size() - 1) * 9 / 10],
                     values.back());
}

std::string page(const ShrinkTableOptions& options, const std::vector<Row>& rows, std::size_t drawn) {
  std::string text =
      "# Shrinking: from a large failing run to a small scenario\n\n"
      "Failing cases with far more in them than the failure needs: 12 to 60 faults, 8 to 20 clients, drawn "
      "as a hunt\n"
      "draws them ([`sim/planted/large_case.h`](../sim/planted/large_case.h)), each made small "
      "([`sim/hunt/shrink.h`](../sim/hunt/shrink.h)). One in three goes\non with fresh draws from a moment "
      "of its "
      "run, as hunts do.\n\n```console\n";
  text +=
      fmt::format("$ build/hunt_planted --shrink --hunts {} --seed {}{} --page results/shrinking.md\n```\n\n",
                  options.cases, options.seed, options.only.empty() ? "" : " --only " + options.only);
  text += fmt::format(
      "{} cases; of {} more that were drawn no promise was broken in the tries that there were.\n\n",
      rows.size(), drawn - rows.size());
  if (rows.empty()) return text;
  const auto of = [](const Row& row) { return size_of(row.shrunk.one.document); };
  text += "| of the small ones | median | nine of ten at most | most |\n|---|---|---|---|\n";
  text += "| faults | " + middle_and_most(rows, [&](const Row& row) { return of(row).faults; }) + " |\n";
  text += "| tasks (clients times threads) | " +
          middle_and_most(rows, [&](const Row& row) { return of(row).tasks; }) + " |\n";
  text +=
      "| operations | " + middle_and_most(rows, [&](const Row& row) { return of(row).operations; }) + " |\n";
  text += "| runs that it took | " + middle_and_most(rows, [](const Row& row) { return row.shrunk.runs; }) +
          " |\n\n";
  const auto all = std::count_if(
      rows.begin(), rows.end(), [](const Row& row) { return row.shrunk.seeds_of_20 == sim::kSeedsThatShow; });
  text += fmt::format(
      "{} of {} show it on each of the seeds 1 to 20. An operation is an acquire with its release. `seeds`: "
      "of 20 "
      "that show\nit; `decisions`: that the run needs besides (a file beside the scenario).\n\n",
      all, rows.size());
  text +=
      "| lock | promise broken | faults | tasks | operations | faults, small | tasks, small | operations, "
      "small | "
      "seeds | decisions | runs |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) text += line_of(row) + "\n";
  return text;
}

}  // namespace

std::string shrink_table(const ShrinkTableOptions& options) {
  std::vector<Row> rows;
  for (const char* const name : kLocks) {
    if (std::string(name).find(options.only) == std::string::npos) continue;
    for (std::uint64_t number = 0; number < options.cases; ++number)
      rows.push_back(
          {.lock = sim::find_lock_kind(name), .number = number, .asked = {}, .large = {}, .shrunk = {}});
  }
  std::mutex mutex;
  for_each(static_cast<unsigned>(options.jobs), rows.size(), [&](std::size_t i) {
    Row& row = rows[i];
    row.asked = sizes_of(row, options.seed);
    row.large = large_case(*row.lock, row.asked);
    if (!row.large) return;
    row.shrunk = shrink(sim::ground_of(*row.lock), row.large->one, row.large->promise);
    const std::lock_guard guard(mutex);
    std::cout << line_of(row) << std::endl;
  });
  const std::size_t drawn = rows.size();
  std::erase_if(rows, [](const Row& row) { return !row.large; });
  return page(options, rows, drawn);
}

}  // namespace holdfast::tools
