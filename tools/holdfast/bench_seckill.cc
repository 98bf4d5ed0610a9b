// Suite seckill: a flash sale under each fault, behind each lock and each protection: how many units are sold
// that the shop did not have, how many updates of the stock are lost, and how long it takes to sell out.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "tools/holdfast/bench.h"
#include "tools/holdfast/bench_story.h"

namespace holdfast::tools {
namespace {

constexpr const char* kSuite = "seckill";

struct Protection {
  std::string name;  // as it is called in the result
  std::string_view write;
  bool with_lock, needs_tokens;
  bool heeds_loss = false;  // a buyer that is told of its loss neither writes nor sells
};
const std::vector<Protection>& protections() {
  static const std::vector<Protection> all = {
      {"lock", "blind", true, false},
      {"lock, loss heeded", "blind", true, false, true},
      {"lock + token", "token", true, true},
      {"lock + token at the write only", "token-at-write", true, true},
      {"lock + compare-and-set", "compare-and-set", true, false},
      {"no lock", "blind", false, false},
      {"compare-and-set, no lock", "compare-and-set", false, false},
  };
  return all;
}

struct Outcome {
  double sold = 0, oversold = 0, lost = 0, sold_out_s = 0, errors = 0;
  bool capped = false;
};

Outcome outcome_of(const sim::RunResult& run, std::int64_t stock) {
  Outcome outcome;
  std::int64_t first = 0, last = 0;
  for (const checker::Event& event : run.history.events()) {
    if (first == 0 && event.f == checker::Function::acquire) first = event.time_ns;
    if (event.f == checker::Function::sell && event.type == checker::EventType::ok) last = event.time_ns;
    const bool bad = event.type == checker::EventType::fail || event.type == checker::EventType::info;
    if (bad && (event.f == checker::Function::acquire || event.f == checker::Function::release))
      ++outcome.errors;
  }
  outcome.sold = static_cast<double>(run.sold);
  outcome.oversold = static_cast<double>(run.oversold);
  // What was sold and did not reduce the stock.
  outcome.lost =
      static_cast<double>(std::max<std::int64_t>(0, run.sold - (stock - run.final_stock.value_or(stock))));
  outcome.sold_out_s = static_cast<double>(std::max<std::int64_t>(0, last - first)) / 1e9;
  outcome.capped = run.capped;
  return outcome;
}

// All seeds of one cell, several at a time.
std::vector<Outcome> play(const sim::Scenario& scenario, int seeds, bool embedded, unsigned jobs) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(seeds));
  std::atomic<int> next{0};
  std::string failure;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < jobs; ++job) {
    threads.emplace_back([&] {
      for (int i = next++; i < seeds && !Bench::interrupted(); i = next++) {
        try {
          const sim::TemporaryFolder folder;
          const sim::RunResult run = sim::run_once(scenario, {.embedded = embedded,
                                                              .seed = static_cast<std::uint64_t>(i + 1),
                                                              .folder = embedded ? "" : folder.path(),
                                                              .keep_history = true});
          outcomes[static_cast<std::size_t>(i)] = outcome_of(run, scenario.workload.stock);
        } catch (const std::exception& error) {
          const std::lock_guard guard(mutex);
          failure = error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (Bench::interrupted()) throw BenchInterrupted();
  if (!failure.empty()) throw std::runtime_error(failure);
  return outcomes;
}

Bench::Variant cell(Bench& bench, const SaleFault& fault, const Sale& sale, const Protection& protection,
                    int seeds, bool embedded) {
  const std::string subject = sale.kind != nullptr ? std::string(sale.kind->name) : "no lock";
  return {fmt::format("{} · {} · {}{}", subject, protection.name, fault.name, embedded ? "" : " (real)"),
          [=, &bench, &fault](int) {
            const auto outcomes = play(sale_scenario(fault, sale), seeds, embedded, embedded ? 2 : 4);
            Measurement& m = bench.result().at(kSuite, subject, embedded ? "embedded" : "real/fibers",
                                               {{"fault", std::string(fault.name)},
                                                {"protection", protection.name},
                                                {"buyers", std::to_string(sale.buyers * sale.threads)},
                                                {"stock", std::to_string(sale.stock)}});
            for (const Outcome& outcome : outcomes) {
              m.add("sold", "units", outcome.sold);
              m.add("oversold", "units", outcome.oversold);
              m.add("lost_updates", "units", outcome.lost);
              m.add("runs_oversold", "ratio", outcome.oversold > 0 ? 1 : 0);
              m.add("sold_out", "s", outcome.sold_out_s);
              m.add("errors", "calls", outcome.errors);
              m.add("cut", "ratio", outcome.capped ? 1 : 0);
            }
          }};
}

void cells(Bench& bench, std::vector<Bench::Variant>& to, const std::vector<const sim::LockKind*>& kinds,
           const std::vector<const sim::LockKind*>& guarded, int buyers, int seeds, bool embedded) {
  for (const SaleFault& fault : sale_faults()) {
    for (const Protection& protection : protections()) {
      Sale sale{.kind = nullptr,
                .write = protection.write,
                .buyers = buyers,
                .stock = embedded ? 10 : 4,
                .heeds_loss = protection.heeds_loss};
      if (!protection.with_lock) {
        to.push_back(cell(bench, fault, sale, protection, seeds, embedded));
        continue;
      }
      for (const sim::LockKind* kind : protection.name == "lock" ? kinds : guarded) {
        if (!possible(fault, kind) || (protection.needs_tokens && !kind->tokens)) continue;
        sale.kind = kind;
        to.push_back(cell(bench, fault, sale, protection, seeds, embedded));
      }
    }
  }
}

}  // namespace

void bench_seckill(Bench& bench) {
  const int seeds = bench.arguments().seeds > 0 ? bench.arguments().seeds : bench.quick() ? 2 : 20;
  const auto kinds = bench.locks();
  std::vector<const sim::LockKind*> guarded;
  for (const char* name : {"reentrant", "fencing-incr"}) {
    for (const sim::LockKind* kind : kinds) {
      if (kind->name == name) guarded.push_back(kind);
    }
  }
  if (guarded.empty()) guarded = kinds;
  std::vector<Bench::Variant> variants;
  if (bench.embedded()) {
    const int buyers =
        bench.arguments().clients.empty() ? bench.quick() ? 6 : 12 : bench.arguments().clients.front();
    bench.result().seeds["seckill, embedded"] = fmt::format("1..{}", seeds);
    cells(bench, variants, kinds, guarded, buyers, seeds, true);
    if (bench.arguments().clients.empty()) {  // a crowd, no fault
      for (const int threads : {1, 100}) {
        for (const sim::LockKind* kind : kinds) {
          // Thousands that poll are a story of their own (suite contended).
          if (kind->name != "reentrant" && kind->name != "fair") continue;
          const Sale sale{.kind = kind, .buyers = 50, .threads = threads, .stock = 10, .think = "1ms..3ms"};
          variants.push_back(cell(bench, sale_faults().front(), sale, protections().front(), 1, true));
        }
      }
    }
  }
  if (bench.real()) {
    std::vector<const sim::LockKind*> one(guarded.begin(), guarded.begin() + 1);
    const int few = bench.arguments().seeds > 0 ? std::min(seeds, 4) : bench.quick() ? 1 : 4;
    bench.result().seeds["seckill, real"] = fmt::format("1..{}", few);
    std::vector<Bench::Variant> all;
    cells(bench, all, one, one, 4, few, false);
    for (Bench::Variant& variant : all) {
      // A quick run asks the two questions that matter most.
      const bool short_list = variant.name.find("· lock ·") != std::string::npos ||
                              variant.name.find("lock + token ·") != std::string::npos;
      const bool few_faults = variant.name.find("holder paused") != std::string::npos ||
                              variant.name.find("failover") != std::string::npos;
      if (!bench.quick() || (short_list && few_faults)) variants.push_back(std::move(variant));
    }
  }
  bench.interleave(1, variants);
}

}  // namespace holdfast::tools
