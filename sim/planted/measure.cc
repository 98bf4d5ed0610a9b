#include "sim/planted/measure.h"

#include <algorithm>

#include "sim/scenario/write_document.h"

namespace holdfast::sim {

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::all: return "all";
    case Strategy::no_feedback: return "no feedback";
    case Strategy::no_targets: return "no targets";
    case Strategy::no_swarm: return "no swarm";
    case Strategy::random_order: return "random order";
    case Strategy::priorities: return "priorities";
    case Strategy::partial_order: return "partial order";
    case Strategy::chains: return "chains";
  }
  return "";
}

namespace {

// As `[run] order` has it; "": drawn.
std::string order_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::random_order: return "random";
    case Strategy::priorities: return "priorities";
    case Strategy::partial_order: return "partial-order";
    case Strategy::chains: return "chains";
    default: return "";
  }
}

}  // namespace

bool has_promise(const std::map<std::string, std::uint64_t>& found, const std::string& wanted) {
  return std::any_of(found.begin(), found.end(), [&](const auto& one) {
    return one.first == wanted || one.first.starts_with(wanted + "/");
  });
}

Search search_for(const LockKind& kind, Strategy strategy, std::uint64_t seed, std::uint64_t most,
                  const std::set<std::string>& wanted) {
  HuntOptions options{.ground = ground_of(kind), .seed = seed, .runs = most};
  options.feedback = strategy != Strategy::no_feedback;
  options.ground.targets = strategy != Strategy::no_targets;
  options.ground.swarm = strategy != Strategy::no_swarm;
  if (const std::string order = order_of(strategy); !order.empty())
    set_key(section_of(options.ground.given, "run"), "order", text_value(order));
  const auto promises = [](const HuntState& state) {
    std::map<std::string, std::uint64_t> found;
    for (const auto& [name, find] : state.finds) {
      const auto [at, is_new] = found.try_emplace(find.failure.promise(), find.run + 1);
      if (!is_new) at->second = std::min(at->second, find.run + 1);
    }
    return found;
  };
  options.stop = [&](const HuntState& state) {
    if (wanted.empty()) return !state.finds.empty();
    const auto found = promises(state);
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const std::string& one) { return has_promise(found, one); });
  };
  const HuntState state = hunt(options);
  Search search{.runs = std::nullopt, .promise = "", .why = "", .first = {}, .found = promises(state)};
  search.tried = state.runs;
  for (const auto& [name, find] : state.finds) {
    if (search.runs && *search.runs <= find.run + 1) continue;
    search.runs = find.run + 1;
    search.promise = find.failure.promise();
    search.why = find.failure.why;
    search.first = find.first;
  }
  return search;
}

}  // namespace holdfast::sim
