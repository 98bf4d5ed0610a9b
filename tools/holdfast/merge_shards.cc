#include "tools/holdfast/merge_shards.h"

#include <fmt/format.h>

#include <map>

#include "tools/holdfast/commands.h"

namespace holdfast::tools {

void require_same(const std::vector<SettingsFile>& files, const std::string& expected) {
  const SettingsFile& first = files.front();
  for (const SettingsFile& file : files) {
    for (std::size_t i = 0; i < first.settings.size(); ++i) {
      const Setting& ours = first.settings[i];
      // Lists of another length are of another sort, which an earlier setting told.
      const Setting& theirs = file.settings.at(i);
      if (ours.value == theirs.value) continue;
      const std::string how = ours.long_text
                                  ? fmt::format("is another than in {}", first.path)
                                  : fmt::format("is {}, but {} in {}", theirs.value, ours.value, first.path);
      throw BadUsage(fmt::format("{}: {} {}; expected {}", file.path, ours.name, how, expected));
    }
  }
}

std::vector<std::size_t> in_order_of_shards(const std::vector<ShardFile>& files) {
  const std::uint64_t of = files.front().shard.of;
  std::map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ShardFile& file = files[i];
    if (file.shard.of != of)
      throw BadUsage(fmt::format("{}: is shard {}, but {} is {}; expected shards of one number", file.path,
                                 file.shard.to_string(), files.front().path,
                                 files.front().shard.to_string()));
    const auto [at, is_new] = places.try_emplace(file.shard.index, i);
    if (!is_new)
      throw BadUsage(fmt::format("{}: is shard {}, as is {}; expected each shard once", file.path,
                                 file.shard.to_string(), files[at->second].path));
  }
  std::vector<std::size_t> order;
  for (const auto& [index, at] : places) {
    if (index != order.size()) break;
    order.push_back(at);
  }
  if (order.size() < of)
    throw BadUsage(fmt::format("shard {} is missing; expected all {} shards",
                               Shard{.index = order.size(), .of = of}.to_string(), of));
  return order;
}

}  // namespace holdfast::tools
