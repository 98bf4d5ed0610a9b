// A register in which each value is written at most once, in O(n log n): zones, after Gibbons and Korach,
// "Testing shared memories", SIAM Journal on Computing 26 (1997). The proof is in models/README.md.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "checker/linearizability/linear.h"

namespace holdfast::checker {

namespace {

constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();

// A write and the reads of its value.
struct ValueCluster {
  std::size_t write = kNowhere;  // kNowhere: the initial value
  std::size_t ends_first = kNowhere, begins_last = kNowhere;
  std::int64_t first_end = kForever;  // the earliest return of its operations
  std::int64_t last_begin = kBefore;  // the latest call of its operations
  std::int64_t written = kBefore;     // the call of the write
  bool needed = false;                // the write took effect: its value was read, or its outcome is known
};

}  // namespace

std::optional<LinearResult> linear_register(const std::vector<Operation>& operations, Value initial,
                                            std::string& why_not) {
  std::unordered_map<std::int64_t, std::size_t> of_value;
  std::vector<ValueCluster> clusters(1);
  clusters[0].first_end = kBefore;
  clusters[0].needed = true;
  of_value[initial.bits()] = 0;
  std::unordered_map<Symbol, std::int64_t> ends;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    const auto [end, fresh] = ends.try_emplace(each.process, each.ret);
    if (!fresh && end->second == each.call) {
      why_not = "equal times within one process";
      return std::nullopt;
    }
    end->second = each.ret;
    if (each.f == Function::cas) {
      why_not = "a compare-and-set";
      return std::nullopt;
    }
    if (each.f != Function::write) continue;
    if (!of_value.try_emplace(each.value.bits(), clusters.size()).second) {
      why_not = "a value that is written twice";
      return std::nullopt;
    }
    clusters.push_back({.write = i,
                        .ends_first = i,
                        .begins_last = i,
                        .first_end = each.ret,
                        .last_begin = each.call,
                        .written = each.call,
                        .needed = !each.unknown});
  }
  LinearResult result;
  const auto violated = [&](std::string kind, std::vector<std::size_t> by) {
    std::sort(by.begin(), by.end());
    by.erase(std::unique(by.begin(), by.end()), by.end());
    if (!by.empty() && by.front() == kNowhere) by.erase(by.begin());
    by.erase(std::remove(by.begin(), by.end(), kNowhere), by.end());
    std::size_t stuck = by.front();
    for (const std::size_t each : by) {
      if (operations[each].ret != kForever && operations[each].ret >= operations[stuck].ret) stuck = each;
    }
    if (result.linearizable || operations[stuck].ret < operations[result.stuck].ret) {
      result = {.linearizable = false, .kind = std::move(kind), .operations = std::move(by), .stuck = stuck};
    }
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    if (each.f != Function::read) continue;
    if (each.value.empty() && !initial.empty()) continue;  // the history does not say what it read
    const auto found = of_value.find(each.value.bits());
    if (found == of_value.end()) {
      violated("read-of-nothing", {i});
      continue;
    }
    ValueCluster& cluster = clusters[found->second];
    cluster.needed = true;
    if (each.ret < cluster.written) violated("read-before-write", {i, cluster.write});
    if (each.ret < cluster.first_end) cluster.first_end = each.ret, cluster.ends_first = i;
    if (each.call > cluster.last_begin) cluster.last_begin = each.call, cluster.begins_last = i;
  }
  std::erase_if(clusters, [](const ValueCluster& cluster) { return !cluster.needed; });

  // Throughout a forward zone [first_end, last_begin] the register must have that value, so forward zones are
  // disjoint.
  std::vector<const ValueCluster*> forward, backward;
  for (const ValueCluster& cluster : clusters) {
    (cluster.first_end < cluster.last_begin ? forward : backward).push_back(&cluster);
  }
  const auto all_of = [](const ValueCluster& cluster) {
    return std::vector<std::size_t>{cluster.write, cluster.ends_first, cluster.begins_last};
  };
  const auto both = [&](const ValueCluster& a, const ValueCluster& b) {
    std::vector<std::size_t> by = all_of(a);
    const std::vector<std::size_t> more = all_of(b);
    by.insert(by.end(), more.begin(), more.end());
    return by;
  };
  std::sort(forward.begin(), forward.end(),
            [](const ValueCluster* a, const ValueCluster* b) { return a->first_end < b->first_end; });
  for (std::size_t i = 1; i < forward.size(); ++i) {
    if (forward[i]->first_end < forward[i - 1]->last_begin) {
      violated("stale-read", both(*forward[i - 1], *forward[i]));
      return result;
    }
  }
  // A backward zone [last_begin, first_end] needs one moment that is in no forward zone.
  for (const ValueCluster* cluster : backward) {
    const auto after = std::upper_bound(
        forward.begin(), forward.end(), cluster->last_begin,
        [](std::int64_t begin, const ValueCluster* zone) { return begin <= zone->first_end; });
    if (after == forward.begin()) continue;
    const ValueCluster& zone = **std::prev(after);
    if (cluster->first_end < zone.last_begin) violated("stale-read", both(zone, *cluster));
  }
  return result;
}

}  // namespace holdfast::checker
