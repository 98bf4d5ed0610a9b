// PostgreSQL as an engine: what a scenario may say of it, and its locks. What needs libpq is in postgresql/,
// which is built where libpq is found (CMakeLists.txt).
#include "sim/comparators/postgresql/postgresql.h"
#include "sim/comparators/engine.h"

#ifdef HOLDFAST_WITH_LIBPQ
#define HOLDFAST_OF_LIBPQ(what) postgresql::what
#else
#define HOLDFAST_OF_LIBPQ(what) nullptr
#endif

namespace holdfast::sim {
namespace {

std::string missing() {
#ifdef HOLDFAST_WITH_LIBPQ
  if (!postgresql::find_postgres("postgres").empty()) return "";
  return "PostgreSQL is not installed on this machine; install it with: " + std::string(kInstallComparators);
#else
  return "this build of holdfast has no client of PostgreSQL; install libpq and build it anew: " +
         std::string(kInstallComparators);
#endif
}

#ifdef HOLDFAST_WITH_LIBPQ
std::vector<std::string> version_command() { return {postgresql::find_postgres("postgres"), "--version"}; }
#else
constexpr auto version_command = nullptr;
#endif

std::vector<LockKind> locks() {
  std::vector<LockKind> all = {
      {.name = "pg-advisory",
       .about = "PostgreSQL: pg_advisory_lock(), of a session; it ends with its connection",
       .make = HOLDFAST_OF_LIBPQ(advisory_locks)},
      {.name = "pg-advisory-xact",
       .about = "PostgreSQL: pg_advisory_xact_lock(), of a transaction that is open while the lock is held",
       .make = HOLDFAST_OF_LIBPQ(advisory_xact_locks)},
      {.name = "pg-row",
       .about = "PostgreSQL: SELECT ... FOR UPDATE of a row, in a transaction; SKIP LOCKED to try",
       .make = HOLDFAST_OF_LIBPQ(row_locks)},
      {.name = "pg-table",
       .about = "PostgreSQL: a row with a unique key, an owner, an expiry and a number from a sequence; "
                "waiters ask every 100 ms",
       .promises_validity = true,
       .tokens = true,
       .make = HOLDFAST_OF_LIBPQ(table_locks)},
  };
  for (LockKind& lock : all) {
    lock.engine = "postgresql";
    if (lock.promises_validity) continue;
    lock.lease = Duration::zero();  // its session is its lease
  }
  return all;
}

}  // namespace

Engine postgresql_engine() {
  return {
      .name = "postgresql",
      .about = "PostgreSQL; a replica streams from its primary",
      .topologies = {Topology::single, Topology::primary_replica},
      .settings = {{"synchronous_commit", "on, remote_apply, remote_write, local or off (on)"},
                   {"synchronous_standby_names",
                    "whom the node that starts as primary waits for, \"r2\" or \"*\"; a promoted one waits "
                    "for nobody"},
                   {"client_connection_check_interval",
                    "how often a busy session looks whether its client is there (never)"},
                   {"idle_in_transaction_session_timeout",
                    "a session that rests in a transaction for longer ends (never)"},
                   {"idle_session_timeout",
                    "a session that rests outside a transaction for longer ends (never)"},
                   {"max_connections", "sessions at a time (100)"}},
      .locks = locks(),
      .missing = missing,
      .version_command = version_command,
      .make = HOLDFAST_OF_LIBPQ(make_cluster),
  };
}

}  // namespace holdfast::sim
