// Suite seckill: a flash sale under each fault, behind each lock and each protection. How many units are sold
// beyond the stock, how many updates of the stock are lost, and how long it takes to sell out.
#include <fmt/format.h>

#include "tools/bench/bench.h"
#include "tools/bench/sale.h"
#include "tools/bench/sale_runs.h"

namespace holdfast::tools {
namespace {

void in_embedded_world(Bench& bench) {
  const int seeds = bench.arguments().seeds > 0 ? bench.arguments().seeds : bench.quick() ? 2 : 20;
  const bool crowd = bench.arguments().clients.empty();
  const int buyers = crowd ? bench.quick() ? 6 : 12 : bench.arguments().clients.front();
  const auto kinds = bench.locks();
  std::vector<const sim::LockKind*> guarded;
  for (const sim::LockKind* kind : kinds) {
    if (kind->name == "reentrant" || kind->name == "fencing-incr") guarded.push_back(kind);
  }
  if (guarded.empty()) guarded = kinds;
  bench.result().seeds["seckill, embedded"] = fmt::format("1..{}", seeds);
  std::vector<SaleCell> cells = cells_of(sale_stories(), kinds, guarded, {.buyers = buyers}, seeds);
  if (crowd) {  // without a fault; thousands that poll are measured by suite contended
    for (const int threads : {1, 100}) {
      for (const sim::LockKind* kind : kinds) {
        if (kind->name != "reentrant" && kind->name != "fair") continue;
        const SaleStory& story = sale_stories().front();
        const SaleSettings crowded{.kind = kind, .buyers = 50, .threads = threads, .think = "1ms..3ms"};
        cells.push_back(make_cell(story, story.protections.front(), crowded, 1));
      }
    }
  }
  play_sales(bench, "seckill", cells, true, 2);
}

void on_real(Bench& bench) {
  const int most = bench.quick() ? 1 : 4;
  const int seeds = bench.arguments().seeds > 0 ? std::min(bench.arguments().seeds, 4) : most;
  const auto kinds = bench.locks(
      {"reentrant", "fair", "redlock", "spring-registry", "annotation", "redisson-3.13-reentrant"},
      {"reentrant"});
  bench.result().seeds["seckill, real"] = fmt::format("1..{}", seeds);
  std::vector<SaleCell> cells =
      cells_of(sale_stories(), kinds, {kinds.front()}, {.buyers = 4, .stock = 4}, seeds);
  if (bench.quick()) keep_main_answers(cells);
  play_sales(bench, "seckill", cells, false, 8);
}

}  // namespace

void bench_seckill(Bench& bench) {
  if (bench.embedded()) in_embedded_world(bench);
  if (bench.real()) on_real(bench);
}

}  // namespace holdfast::tools
