#include "sim/cluster/clocked_redis.h"

#include <filesystem>

namespace holdfast::sim {
namespace {

std::string clock_file(const RedisProcessOptions& options) {
  std::filesystem::create_directories(options.folder);
  return options.folder + "/clock";
}

RedisProcessOptions obeying(RedisProcessOptions options, const ClockControl& clock) {
  for (auto& variable : clock.environment()) options.environment.push_back(std::move(variable));
  return options;
}

}  // namespace

ClockedRedis::ClockedRedis(Runtime& runtime, Network& network, RedisProcessOptions options)
    : ClockOfRedis(clock_file(options)),
      RedisProcess(runtime, network, obeying(std::move(options), clock_control)) {}

}  // namespace holdfast::sim
