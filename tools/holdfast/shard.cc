#include "tools/holdfast/shard.h"

#include "sim/scenario/units.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {

Shard parse_shard(const std::string& text) {
  const BadUsage problem("--shard: `" + text + "`, expected K/N such as 1/8");
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw problem;
  const auto number = [&](const std::string& digits) {
    const auto seeds = sim::parse_seeds(digits);
    if (!seeds || seeds->count() != 1 || seeds->random > 0 || seeds->at(0) == 0) throw problem;
    return seeds->at(0);
  };
  const std::uint64_t shard = number(text.substr(0, slash));
  const std::uint64_t of = number(text.substr(slash + 1));
  if (shard > of) throw problem;
  return {.index = shard - 1, .of = of};
}

}  // namespace holdfast::tools
