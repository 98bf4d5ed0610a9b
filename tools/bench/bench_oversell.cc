// Suite oversell: what a fault costs a sale of 10,000 buyers and 500 units, behind each lock and each
// protection; on real servers a sale of a fifth of it. results/oversell.md tells it. Locks of which a
// sale takes minutes, because thousands of waiters ask again and again, are left out.
#include <fmt/format.h>

#include "tools/bench/bench.h"
#include "tools/bench/sale.h"
#include "tools/bench/sale_runs.h"

namespace holdfast::tools {
namespace {

constexpr int kEach = 100;  // buyers in each process

void play(Bench& bench, bool embedded, const std::vector<std::string>& locks, SaleSettings settings,
          unsigned jobs) {
  const int usual = bench.quick() ? 1 : 3;
  const int seeds = bench.arguments().seeds > 0 ? bench.arguments().seeds : usual;
  if (bench.quick()) settings = {};  // as the files say
  bench.result().seeds[embedded ? "oversell, embedded" : "oversell, real"] = fmt::format("1..{}", seeds);
  const std::vector<const sim::LockKind*> kinds = bench.locks(locks, {"reentrant"});
  std::vector<SaleCell> cells = cells_of(great_sale_stories(), kinds, {kinds.front()}, settings, seeds);
  if (bench.quick() && !embedded) keep_main_answers(cells);
  play_sales(bench, "oversell", cells, embedded, jobs);
}

}  // namespace

void bench_oversell(Bench& bench) {
  // One at a time: a sale of this size has nearly as many tasks as the kernel lets a process have stacks.
  if (bench.embedded()) {
    play(bench, true, {"reentrant", "fair", "redlock", "survivor", "spring-registry", "annotation"},
         {.buyers = 100, .threads = kEach, .stock = 500}, 1);
  }
  if (bench.real()) {
    play(bench, false, {"reentrant", "redlock", "survivor", "annotation", "redisson-3.13-reentrant"},
         {.buyers = 20, .threads = kEach, .stock = 100}, bench.quick() ? 8 : 2);
  }
}

}  // namespace holdfast::tools
