#include "tools/bench/shortest_lock.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "generated/shortest_scripts.h"

namespace holdfast::tools {
namespace {

constexpr ShortestScripts kShortest[] = {
    {"fenced", shortest_scripts::shortest_fenced_acquire, shortest_scripts::shortest_release},
    {"fair", shortest_scripts::shortest_fair_acquire, shortest_scripts::shortest_fair_release},
    {"read-write", shortest_scripts::shortest_write_acquire, shortest_scripts::shortest_release},
    {"semaphore", shortest_scripts::shortest_semaphore_acquire, shortest_scripts::shortest_semaphore_release},
};

}  // namespace

const ShortestScripts* find_shortest(std::string_view kind) {
  const auto* found = std::ranges::find(kShortest, kind, &ShortestScripts::kind);
  return found == std::end(kShortest) ? nullptr : found;
}

ShortestLock::ShortestLock(const ShortestScripts& scripts, redis::Client& client, const std::string& key,
                           std::string owner, Duration lease)
    : scripts_(scripts),
      client_(client),
      keys_{key, "shortest:{" + key + "}"},
      args_{std::move(owner), std::to_string(std::chrono::ceil<std::chrono::milliseconds>(lease).count()),
            "1"} {}

void ShortestLock::acquire() {
  const std::array<std::string_view, 2> keys{keys_[0], keys_[1]};
  const std::array<std::string_view, 3> args{args_[0], args_[1], args_[2]};
  const redis::Answer answer = client_.eval(scripts_.acquire, keys, args);
  if (answer.reply.items.empty() || answer.reply.items[0].integer != 1) {
    throw std::runtime_error("the shortest scripts: the acquire of a free lock was refused");
  }
}

void ShortestLock::release() {
  const std::array<std::string_view, 2> keys{keys_[0], keys_[1]};
  const std::array<std::string_view, 1> args{args_[0]};
  if (client_.eval(scripts_.release, keys, args).reply.integer != 1) {
    throw std::runtime_error("the shortest scripts: the release of what was held was refused");
  }
}

}  // namespace holdfast::tools
