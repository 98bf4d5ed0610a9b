#include "sim/explore/same_history.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/world/trace.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::History;

constexpr std::string_view kLedger = "ledger/", kNemesis = "nemesis";

std::uint64_t digest_of(const History& history, const Event& event, bool of_ledger) {
  Trace trace;
  trace.add(static_cast<std::uint64_t>(event.time_ns));
  trace.add(static_cast<std::uint64_t>(event.valid_until_ns));
  trace.add((std::uint64_t{event.permits} << 16) | (static_cast<std::uint64_t>(event.type) << 8) |
            static_cast<std::uint64_t>(event.f));
  for (const checker::Value value : {event.token, event.value}) trace.add(history.shown(value));
  if (!of_ledger) trace.add(history.text(event.process));
  for (const checker::Symbol symbol : {event.key, event.id, event.owner, event.mode, event.node, event.error})
    trace.add(history.text(symbol));
  return trace.digest();
}

}  // namespace

std::uint64_t digest_of_same(const History& history) {
  struct Line {
    std::int64_t time_ns;
    std::string_view process;
    std::uint64_t tie;  // 0: as they were told
    std::uint64_t digest;
  };
  std::vector<Line> lines;
  lines.reserve(history.events().size());
  for (const Event& event : history.events()) {
    const std::string_view process = history.text(event.process);
    const bool of_ledger = process.starts_with(kLedger);
    const std::uint64_t digest = digest_of(history, event, of_ledger);
    lines.push_back({event.time_ns, of_ledger ? history.text(event.owner) : process,
                     process == kNemesis ? digest : 0, digest});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tie(a.time_ns, a.process, a.tie) < std::tie(b.time_ns, b.process, b.tie);
  });
  Trace trace;
  for (const Line& line : lines) trace.add(line.digest);
  return trace.digest();
}

}  // namespace holdfast::sim
