#include "sim/scenario/left_behind.h"

#include <algorithm>
#include <stdexcept>

#include "checker/checks/check.h"

namespace holdfast::sim {
namespace {

// "<type> <length of the key>:<key>" for each.
constexpr const char* kWithoutExpiry = R"(
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 and key ~= 'holdfast:survivor' then -- which belongs to no lock
    found[#found + 1] = redis.call('TYPE', key)['ok'] .. ' ' .. #key .. ':' .. key
  end
end
table.sort(found)
return table.concat(found))";

bool is_primary(ClusterNode& node) {
  const std::string info = node.administer(std::vector<std::string>{"INFO", "replication"});
  return info.find("role:master") != std::string::npos;
}

}  // namespace

std::vector<LeftBehind> left_behind(const Cluster& cluster) {
  std::vector<LeftBehind> left;
  for (const auto& node : cluster.nodes()) {
    if (!node->running()) continue;
    std::string answer;
    try {
      if (!is_primary(*node)) continue;
      answer = node->administer(std::vector<std::string>{"EVAL", kWithoutExpiry, "0"});
    } catch (const NodeRefuses& refusal) {
      if (!refusal.says("BUSY")) throw;
      left.push_back({node->name(), "", std::string(checker::kScript)});
    }
    for (std::size_t at = 0; at < answer.size();) {
      const std::size_t blank = answer.find(' ', at), colon = answer.find(':', at);
      if (blank == std::string::npos || colon == std::string::npos)
        throw std::runtime_error("node " + node->name() + " did not list its keys");
      const std::size_t length = std::stoul(answer.substr(blank + 1, colon - blank - 1));
      std::string key = answer.substr(colon + 1, length);
      left.push_back({node->name(), std::move(key), answer.substr(at, blank - at)});
      at = colon + 1 + length;
    }
  }
  return left;
}

}  // namespace holdfast::sim
