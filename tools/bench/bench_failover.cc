// Suite failover: single runs over time. Grants while the primary dies and its replica is promoted; who held
// the lock when, and until when it was promised.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/scenario/run.h"
#include "tools/bench/bench.h"
#include "tools/bench/sale.h"

namespace holdfast::tools {
namespace {

using checker::EventType;
using checker::Function;

constexpr const char* kSuite = "failover";
constexpr double kStep = 0.1;  // s

sim::RunResult run(const sim::Scenario& scenario, bool embedded) {
  const TemporaryFolder folder;
  return sim::run_once(scenario, {.embedded = embedded,
                                  .seed = 1,
                                  .folder = embedded ? "" : folder.path(),
                                  .keep_history = true,
                                  .interrupted = Bench::interrupted});
}

void add_faults(Measurement& m, const checker::History& history, double begin, double end) {
  m.bands.clear();
  for (const FaultTime& fault : fault_times(history)) {
    m.bands.push_back(
        {"fault", fault.name, fault.from - begin, (fault.to > fault.from ? fault.to : end) - begin});
  }
}

double first_acquire(const checker::History& history) {
  for (const checker::Event& event : history.events()) {
    if (event.f == Function::acquire) return static_cast<double>(event.time_ns) / 1e9;
  }
  return 0;
}

void throughput(Bench& bench, const sim::LockKind* kind, bool embedded) {
  const int length = bench.quick() ? 8 : 10;
  const sim::RunResult result = run(failover_scenario(*kind, fmt::format("{}s", length)), embedded);
  const double begin = first_acquire(result.history);
  std::vector<double> grants(static_cast<std::size_t>(length / kStep) + 1);
  std::map<std::size_t, double> gap;
  double last = begin, longest = 0;
  for (const checker::Event& event : result.history.events()) {
    if (event.f != Function::acquire || event.type != EventType::ok) continue;
    const double at = static_cast<double>(event.time_ns) / 1e9;
    const auto bucket = static_cast<std::size_t>(std::max(0.0, (at - begin) / kStep));
    if (bucket < grants.size()) grants[bucket] += 1 / kStep;
    longest = std::max(longest, at - last);
    last = at;
  }
  Measurement& m = bench.result().at(kSuite, std::string(kind->name), embedded ? "embedded" : "real/fibers",
                                     {{"picture", "throughput"}, {"clients", "10"}});
  auto& points = m.curves["grants_per_s"];
  points.clear();
  for (std::size_t i = 0; i < grants.size(); ++i)
    points.emplace_back(static_cast<double>(i) * kStep, grants[i]);
  add_faults(m, result.history, begin, begin + length);
  m.add("grants", static_cast<double>(result.grants));
  m.add("longest_gap", longest);
}

// One sale: who held the lock when, and until when it was promised.
void timeline(Bench& bench, const sim::LockKind* kind, const SaleStory& story, bool embedded) {
  const SaleSettings settings{.kind = kind, .buyers = 3, .stock = 4};
  const sim::RunResult result = run(sale_scenario(story, story.protections.front(), settings), embedded);
  const checker::History& history = result.history;
  const double begin = first_acquire(history);
  const auto seconds = [begin](std::int64_t ns) { return static_cast<double>(ns) / 1e9 - begin; };
  Measurement& m = bench.result().at(kSuite, std::string(kind->name), embedded ? "embedded" : "real/fibers",
                                     {{"picture", "timeline"}, {"fault", story.fault}});
  const double end =
      history.events().empty() ? 0 : static_cast<double>(history.events().back().time_ns) / 1e9;
  add_faults(m, history, begin, end);
  struct Open {
    double from = 0, until = -1;
    std::string row;
  };
  std::map<std::string, Open> holds;  // by client
  const auto close = [&](const std::string& client, double at) {
    const auto found = holds.find(client);
    if (found == holds.end()) return;
    m.bands.push_back({client, "hold", found->second.from, at});
    if (found->second.until >= 0) {
      m.bands.push_back({client, "promised", found->second.from, std::min(found->second.until, at)});
    }
    holds.erase(found);
  };
  for (const checker::Event& event : history.events()) {
    const std::string process(history.text(event.process));
    const std::string client = process.substr(0, process.find('/'));
    const bool has_validity = event.valid_until_ns != checker::kAbsent;
    if (event.f == Function::acquire && event.type == EventType::ok) {
      holds[client] = {seconds(event.time_ns), has_validity ? seconds(event.valid_until_ns) : -1, client};
    } else if (event.f == Function::renew && event.type == EventType::ok && has_validity) {
      if (const auto found = holds.find(client); found != holds.end()) {
        found->second.until = std::max(found->second.until, seconds(event.valid_until_ns));
      }
    } else if (event.f == Function::release && event.type == EventType::invoke) {
      close(client, seconds(event.time_ns));
    } else if (event.f == Function::lost) {
      m.bands.push_back({client, "told of loss", seconds(event.time_ns), seconds(event.time_ns)});
    } else if (event.f == Function::sell && event.type == EventType::ok) {
      m.bands.push_back({client, "sale", seconds(event.time_ns), seconds(event.time_ns)});
    }
  }
  while (!holds.empty()) close(holds.begin()->first, end - begin);
  m.add("sold", static_cast<double>(sim::figure(result.figures, "sold")));
  m.add("oversold", static_cast<double>(sim::figure(result.figures, "oversold")));
}

}  // namespace

void bench_failover(Bench& bench) {
  std::vector<Bench::Trial> trials;
  for (const bool embedded : {true, false}) {
    if (embedded ? !bench.embedded() : !bench.real()) continue;
    for (const sim::LockKind* kind :
         bench.locks({"reentrant", "fair", "lock-interface", "redisson-3.13-reentrant"},
                     {"reentrant", "lock-interface"})) {
      if (kind->quorum) continue;
      if (bench.quick() && !embedded && kind->name != "reentrant") continue;
      trials.push_back({fmt::format("{} across a failover{}", kind->name, embedded ? "" : " (real)"),
                        [=, &bench](int) { throughput(bench, kind, embedded); }});
    }
    const auto first = bench.locks({"reentrant"});
    if (!embedded || first.empty() || first.front()->quorum) continue;
    for (const SaleStory& story : sale_stories()) {
      if (story.protections.front().faults.empty()) continue;
      const sim::LockKind* const kind = first.front();
      trials.push_back({fmt::format("timeline: {}", story.fault),
                        [=, &bench, &story](int) { timeline(bench, kind, story, true); }});
    }
  }
  bench.result().seeds["failover, embedded"] = "1";
  bench.interleave(1, trials);
}

}  // namespace holdfast::tools
