// `holdfast locks`: what is held on a server, by whom, since when and for how much longer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "lib/redis/error.h"
#include "lib/testing/server/missing.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/held_locks.h"
#include "tools/holdfast/json_file.h"
#include "tools/holdfast/live_server.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

constexpr std::size_t kMost = 10'000;
constexpr std::size_t kWidestKey = 60;

using Row = std::array<std::string, 7>;

// "2026-11-26T14:35:07Z"
std::string day_and_time(std::int64_t ms) {
  const std::chrono::sys_seconds at(std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(ms)));
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

Row row_of(const HeldLock& lock) {
  const bool latch = lock.kind == HeldLock::Kind::latch;
  std::string kind = to_string(lock.kind);
  if (lock.kind == HeldLock::Kind::semaphore) kind += fmt::format(" x{}", lock.permits);
  if (latch) kind += fmt::format(" at {}", lock.permits);
  return {for_terminal(lock.key, Terminal(), kWidestKey),
          kind,
          latch ? "-" : lock.owner,
          left_text(lock),
          lock.since_ms ? day_and_time(*lock.since_ms) : "-",
          lock.token ? std::to_string(*lock.token) : "-",
          std::to_string(lock.waiters)};
}

void print_table(const HeldLocks& held) {
  std::vector<Row> rows = {{"key", "kind", "held by", "left", "since", "token", "waiters"}};
  for (const HeldLock& lock : held.locks) rows.push_back(row_of(lock));
  std::array<std::size_t, 7> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    print_out(line.substr(0, line.find_last_not_of(' ') + 1) + "\n");
  }
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

void print_json(const HeldLocks& held, const std::string& server) {
  Json locks = Json::array();
  for (const HeldLock& lock : held.locks) {
    const bool latch = lock.kind == HeldLock::Kind::latch;
    Json row = {{"key", lock.key}, {"kind", to_string(lock.kind)}};
    row["owner"] = latch ? Json() : Json(lock.owner);
    row[latch ? "count" : "permits"] = lock.permits;
    row["lease_left_ms"] = or_null(lock.left_ms);
    row["since_ms"] = or_null(lock.since_ms);
    row["token"] = or_null(lock.token);
    row["waiters"] = lock.waiters;
    locks.push_back(std::move(row));
  }
  print_out(text_of({{"server", server}, {"all", held.all}, {"locks", std::move(locks)}}));
}

}  // namespace

ExitCode locks_command(const LocksArguments& arguments) {
  LiveServer server(arguments.urls, arguments.password);
  server.require_primary();
  try {
    const HeldLocks held = held_on(server.client(), arguments.pattern, kMost);
    if (arguments.json) {
      print_json(held, server.address());
    } else if (held.locks.empty()) {
      print_out("nothing is held\n");
    } else {
      print_table(held);
      if (!held.all)
        print_out(fmt::format("... and more than these {}: name some by --match\n", held.locks.size()));
    }
  } catch (const redis::Error& error) {
    throw Missing(error.what());
  }
  return kMet;
}

}  // namespace holdfast::tools
