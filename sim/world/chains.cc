#include "sim/world/chains.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace holdfast::sim {

Duration draw_log_uniform(Rng& rng, Duration low, Duration high) {
  const auto from = static_cast<std::uint64_t>(std::max<Duration::rep>(low.count(), 1));
  const auto to = std::max(static_cast<std::uint64_t>(high.count()), from);
  const auto octaves = static_cast<std::uint64_t>(std::bit_width(to / from)) - 1;
  const std::uint64_t quarters = rng.between(0, 4 * octaves);
  const std::uint64_t octave = from << (quarters / 4);
  return Duration(static_cast<std::int64_t>(std::min(to, octave + octave * (quarters % 4) / 4)));
}

Chains::Chains(const ChainOptions& options, const Rng& rng, Told told)
    : options_(options),
      root_(rng),
      changes_(rng.child("changes")),
      told_(std::move(told)),
      left_(changes_.between(1, options.changes)) {
  plan();
}

void Chains::plan() { until_ = changes_.between(1, options_.apart); }

Duration Chains::next(std::string_view name, Duration longest) {
  auto found = chains_.find(name);
  const auto draw_priority = [&](Chain& chain) {
    chain.priority =
        chain.rng.chance(1, 2) ? Duration{} : draw_log_uniform(chain.rng, options_.least, options_.steady);
  };
  if (found == chains_.end()) {
    found = chains_.emplace(std::string(name), Chain{.rng = root_.child(name)}).first;
    draw_priority(found->second);
  }
  Chain& chain = found->second;
  const Duration steady = std::min(chain.priority, longest);
  if (left_ == 0 || --until_ > 0) return steady;
  if (--left_ > 0) plan();
  const Duration down = draw_log_uniform(chain.rng, options_.least, std::max(options_.least, longest));
  draw_priority(chain);
  if (told_) told_(name, down);
  return down;
}

}  // namespace holdfast::sim
