// What a foreign program finds in its environment.
#include "sim/external/external.h"

#include "sim/cluster/cluster.h"

namespace holdfast::sim {
namespace {

std::string url_of(const Endpoint& endpoint) { return "redis://" + endpoint.to_string() + "/0"; }

// "A,B,C"
std::string list_of(const std::vector<Endpoint>& endpoints, std::string (*text)(const Endpoint&)) {
  std::string all;
  for (const Endpoint& endpoint : endpoints) all += (all.empty() ? "" : ",") + text(endpoint);
  return all;
}

}  // namespace

Variables External::environment_of(const Client& client) const {
  std::string keys;
  for (std::int64_t i = 1; i <= own_.keys; ++i) {
    keys += (keys.empty() ? "" : ",") + options_.key;
    if (own_.keys > 1) keys += ":" + std::to_string(i);
  }
  const auto lease_ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count();
  Rng rng = world_.rng("seed/" + client.name);
  std::vector<std::pair<std::string, std::string>> variables = {
      {"HOLDFAST_REDIS_URL", url_of(client.door)},
      {"HOLDFAST_REDIS_HOST", client.door.host},
      {"HOLDFAST_REDIS_PORT", std::to_string(client.door.port)},
      {"HOLDFAST_REDIS_NODES", list_of(client.doors, url_of)},
      {"HOLDFAST_CLIENT", client.name},
      {"HOLDFAST_KEYS", keys},
      {"HOLDFAST_EFFECTS", client.effects->endpoint().to_string()},
      {"HOLDFAST_LEASE_MS", std::to_string(lease_ms)},
      {"HOLDFAST_SEED", std::to_string(rng.between(1, (std::uint64_t{1} << 53) - 1))},
      // A line that stays in a buffer is told too late.
      {"PYTHONUNBUFFERED", "1"}};
  if (!client.sentinels.empty()) {
    variables.emplace_back("HOLDFAST_SENTINELS", list_of(client.sentinels, [](const Endpoint& endpoint) {
                             return endpoint.to_string();
                           }));
    variables.emplace_back("HOLDFAST_PRIMARY_NAME", kPrimaryName);
  }
  return variables;
}

}  // namespace holdfast::sim
