// Workload postgresql-stock, as a row of the list of workloads. What it does: postgresql/stock.cc.
#include "sim/client/workload_kind.h"
#include "sim/comparators/postgresql/postgresql.h"

#ifdef HOLDFAST_WITH_LIBPQ
#define HOLDFAST_OF_LIBPQ(what) postgresql::what
#else
#define HOLDFAST_OF_LIBPQ(what) nullptr
#endif

namespace holdfast::sim {

WorkloadKind postgresql_stock_workload() {
  using Type = Setting::Type;
  WorkloadKind kind{
      .name = "postgresql-stock",
      .about =
          "a flash sale whose stock is a row in PostgreSQL: read it, think, write one less, in one "
          "transaction; real world only"};
  kind.engine = "postgresql";
  kind.keys = {
      {.name = "stock", .type = Type::count, .about = "units (10)", .most = 1'000'000},
      {.name = "transaction",
       .type = Type::text,
       .about = "select-update: SELECT count, think, UPDATE to one less, at READ COMMITTED; for-update: the "
                "SELECT "
                "locks the row; serializable: the transaction is; decrement: UPDATE count = count - 1 of "
                "what is left, "
                "without a SELECT (select-update)",
       .choices = {"select-update", "for-update", "serializable", "decrement"}},
  };
  kind.checks = {"oversell", "lost-update"};
  kind.marks = {};
  kind.cost = "oversold";
  kind.make = HOLDFAST_OF_LIBPQ(stock);
  return kind;
}

}  // namespace holdfast::sim
