#include "tools/bench/sale_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "tools/bench/keep_sale.h"

namespace holdfast::tools {
namespace {

SaleOutcome outcome_of(const sim::RunResult& run) {
  SaleOutcome outcome;
  std::int64_t first = 0, last = 0;
  for (const checker::Event& event : run.history.events()) {
    if (first == 0 && event.f == checker::Function::acquire) first = event.time_ns;
    if (event.f == checker::Function::sell && event.type == checker::EventType::ok) last = event.time_ns;
    const bool bad = event.type == checker::EventType::fail || event.type == checker::EventType::info;
    if (bad && (event.f == checker::Function::acquire || event.f == checker::Function::release))
      ++outcome.errors;
  }
  const std::int64_t sold = sim::figure(run.figures, "sold");
  outcome.sold = static_cast<double>(sold);
  outcome.oversold = static_cast<double>(sim::figure(run.figures, "oversold"));
  // Sold without reducing the stock.
  outcome.lost = static_cast<double>(std::max<std::int64_t>(
      0, sold - (sim::figure(run.figures, "stock") - sim::figure(run.figures, "left"))));
  outcome.sold_out_s = static_cast<double>(std::max<std::int64_t>(0, last - first)) / 1e9;
  outcome.capped = run.capped;
  return outcome;
}

// Asked of every sale that may be kept: the story is told of it.
void ask_for_stories(std::vector<SaleCell>& cells) {
  for (SaleCell& cell : cells) {
    sim::Expectation oversells;
    oversells.check = "oversell";
    oversells.violated = true;
    cell.scenario.expectations = {oversells};
  }
}

// The runs of all cells, several at a time: on real servers a run mostly waits.
class SaleRuns {
 public:
  SaleRuns(Bench& bench, const std::string& suite, std::vector<SaleCell>& cells, bool embedded)
      : bench_(bench), suite_(suite), cells_(cells), embedded_(embedded) {
    if (!bench.arguments().out.empty()) ask_for_stories(cells);
    for (SaleCell& cell : cells_) {
      cell.outcomes.resize(static_cast<std::size_t>(cell.seeds));
      for (int i = 0; i < cell.seeds; ++i) runs_.emplace_back(&cell, i);
    }
  }

  // Adds complete cells to the result; then throws BenchInterrupted if it was interrupted.
  void play(unsigned jobs) {
    std::vector<std::thread> threads;
    for (unsigned job = 0; job < jobs; ++job) threads.emplace_back([this] { work(); });
    {
      Progress progress(runs_.size(), "sales", false);
      progress.show_next();
      while (done_ < runs_.size() && !Bench::interrupted() && !missing_) {
        progress.update(done_, 0, runs_[std::min(next_.load(), runs_.size()) - 1].first->name());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    for (std::thread& thread : threads) thread.join();
    if (missing_) throw MissingServer();
    for (const SaleCell& cell : cells_) keep(cell);
    for (const SaleCell& cell : cells_) {
      if (!cell.told) continue;
      const std::string name = fmt::format("{}-{}-{}", cell.fault, cell.protection, cell.subject);
      bench_.write([&] { keep_sale(bench_.arguments().out, cell.scenario, name, *cell.told, embedded_); });
    }
    if (Bench::interrupted()) throw BenchInterrupted();
  }

 private:
  void work() {
    for (std::size_t i = next_++; i <= runs_.size() && !Bench::interrupted() && !missing_; i = next_++) {
      auto& [cell, seed] = runs_[i - 1];
      try {
        const TemporaryFolder folder;
        sim::RunResult run = sim::run_once(cell->scenario, {.embedded = embedded_,
                                                            .seed = static_cast<std::uint64_t>(seed + 1),
                                                            .folder = embedded_ ? "" : folder.path(),
                                                            .keep_history = true,
                                                            .interrupted = Bench::interrupted});
        const SaleOutcome outcome = outcome_of(run);
        cell->outcomes[static_cast<std::size_t>(seed)] = outcome;
        if (outcome.oversold > 0 && !bench_.arguments().out.empty()) {
          const std::lock_guard guard(mutex_);
          if (!cell->told || run.seed < cell->told->seed) cell->told = std::move(run);
        }
      } catch (const MissingServer&) {
        missing_ = true;
      } catch (const std::exception& error) {
        const std::lock_guard guard(mutex_);
        cell->failure = error.what();
      }
      ++done_;
    }
  }

  void keep(const SaleCell& cell) {
    const auto whole = [](const std::optional<SaleOutcome>& outcome) { return outcome.has_value(); };
    if (!std::all_of(cell.outcomes.begin(), cell.outcomes.end(), whole)) {
      if (!Bench::interrupted()) bench_.note(cell.name() + (embedded_ ? ": " : " (real): ") + cell.failure);
      return;
    }
    const sim::WorkloadOptions& workload = cell.scenario.workload;
    Measurement& m =
        bench_.result().at(suite_, cell.subject, embedded_ ? "embedded" : "real/fibers",
                           {{"fault", cell.fault},
                            {"protection", cell.protection},
                            {"buyers", std::to_string(workload.clients * workload.threads)},
                            {"stock", std::to_string(sim::get_or(workload.own, "stock", std::int64_t{10}))}});
    for (const std::optional<SaleOutcome>& outcome : cell.outcomes) {
      m.add("sold", outcome->sold);
      m.add("oversold", outcome->oversold);
      m.add("lost_updates", outcome->lost);
      m.add("runs_oversold", outcome->oversold > 0 ? 1 : 0);
      m.add("sold_out", outcome->sold_out_s);
      m.add("errors", outcome->errors);
      m.add("cut", outcome->capped ? 1 : 0);
    }
  }

  Bench& bench_;
  const std::string& suite_;
  std::vector<SaleCell>& cells_;
  const bool embedded_;
  std::vector<std::pair<SaleCell*, int>> runs_;
  std::atomic<std::size_t> next_{1}, done_{0};
  std::atomic<bool> missing_{false};
  std::mutex mutex_;
};

}  // namespace

std::string SaleCell::name() const { return fmt::format("{} · {} · {}", subject, protection, fault); }

SaleCell make_cell(const SaleStory& story, const sim::Scenario& protection, const SaleSettings& settings,
                   int seeds) {
  return {.fault = story.fault,
          .protection = protection_name(protection),
          .subject = has_lock(protection) ? std::string(settings.kind->name) : "no lock",
          .scenario = sale_scenario(story, protection, settings),
          .seeds = seeds};
}

// SaleCells for every fault and protection: `kinds` for the lock alone, `guarded` for the other protections.
std::vector<SaleCell> cells_of(const std::vector<SaleStory>& stories,
                               const std::vector<const sim::LockKind*>& kinds,
                               const std::vector<const sim::LockKind*>& guarded, SaleSettings settings,
                               int seeds) {
  std::vector<SaleCell> cells;
  for (const SaleStory& story : stories) {
    for (const sim::Scenario& protection : story.protections) {
      settings.kind = nullptr;
      if (!has_lock(protection)) {
        cells.push_back(make_cell(story, protection, settings, seeds));
        continue;
      }
      for (const sim::LockKind* kind : protection.variant.empty() ? kinds : guarded) {
        if (!possible(protection, *kind)) continue;
        settings.kind = kind;
        cells.push_back(make_cell(story, protection, settings, seeds));
      }
    }
  }
  return cells;
}

void keep_main_answers(std::vector<SaleCell>& cells) {
  std::erase_if(cells, [](const SaleCell& cell) {
    return cell.protection != "lock" && cell.protection != "token" && cell.protection != "no-lock";
  });
}

void play_sales(Bench& bench, const std::string& suite, std::vector<SaleCell>& cells, bool embedded,
                unsigned jobs) {
  SaleRuns(bench, suite, cells, embedded).play(jobs);
}

}  // namespace holdfast::tools
