#include "sim/world/rare.h"

#include <chrono>
#include <utility>

#include "sim/world/chains.h"
#include "sim/world/world_base.h"

namespace holdfast::sim {

Rare::Rare(const RareOptions& options, Chains* chains, std::string process, const Rng& rng)
    : options_(options),
      chains_(chains),
      process_(std::move(process)),
      reads_(rng.child("reads")),
      wakeups_(rng.child("wakeups")),
      timers_(rng.child("timers")) {}

std::size_t Rare::part_of(std::size_t bytes) {
  if (bytes <= 1 || options_.reads_percent == 0 || !reads_.chance(options_.reads_percent, 100)) return bytes;
  return static_cast<std::size_t>(reads_.between(1, bytes - 1));
}

std::optional<Duration> Rare::early() {
  if (options_.wakeups_percent == 0 || !wakeups_.chance(options_.wakeups_percent, 100)) return std::nullopt;
  constexpr Duration kLeast = std::chrono::microseconds(1), kMost = std::chrono::milliseconds(50);
  return draw_log_uniform(wakeups_, kLeast, kMost);
}

Duration Rare::late(std::string_view role) {
  const Duration chain = chains_ == nullptr ? Duration{} : chains_->timer(process_ + "/" + std::string(role));
  return chain + options_.timers.draw(timers_);
}

void make_rare(World& world, const RareOptions& options, Chains* chains,
               std::function<bool(std::string_view process)> whose) {
  static_cast<WorldBase&>(world).make_rare(options, chains, std::move(whose));
}

}  // namespace holdfast::sim
