#include "tools/holdfast/merge_hunts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/hunt/join_hunts.h"
#include "sim/scenario/write_document.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/merge_shards.h"
#include "tools/holdfast/version.h"

namespace holdfast::tools {
namespace {

const char* word(bool flag) { return flag ? "on" : "off"; }

// What must be the same in all of them, as people call it.
std::vector<Setting> settings_of(const HuntRecord& hunt) {
  const sim::Ground& ground = hunt.ground;
  std::vector<Setting> settings = {
      {"version", hunt.version},
      {"lock or file", hunt.what()},
      {"lock", std::string(ground.lock->name)},
      {"text of the file", to_toml(ground.given), /*long_text=*/true},
      {"bounds", ground.bounds == sim::Ground::Bounds::promised ? "promised" : "anything"},
      {"targets", word(ground.targets)},
      {"swarm", word(ground.swarm)},
      {"feedback", word(hunt.feedback)},
      {"shrinking", word(hunt.shrink)},
      {"build of holdfast (its runs differ)", hex_of(hunt.probe)},
  };
  if (hunt.feedback) return settings;
  settings.push_back({"seed", std::to_string(hunt.seed)});
  settings.push_back({"number of runs", hunt.asked ? std::to_string(*hunt.asked) : "those of some time"});
  return settings;
}

// Of the violations whose first run of all is in `part`.
void keep_small(HuntRecord& all, const HuntRecord& part) {
  for (const auto& [name, small] : part.small) {
    const sim::Find &ours = all.state.finds.at(name), &theirs = part.state.finds.at(name);
    if (ours.run == theirs.run && ours.seed == theirs.seed) all.small[name] = small;
  }
}

HuntRecord merge_shards(std::vector<ReadHunt> hunts) {
  std::vector<ShardFile> files;
  for (const ReadHunt& hunt : hunts) files.push_back({hunt.path, hunt.record.shard});
  const std::vector<std::size_t> order = in_order_of_shards(files);
  for (const auto& [path, record] : hunts) {
    if (!record.asked || record.whole()) continue;
    throw BadUsage(
        fmt::format("{}: shard {} was interrupted after {} of {} runs; expected a whole one, "
                    "`hunt --resume` goes on with it",
                    path, record.shard.to_string(), record.state.runs, record.shard.part_of(*record.asked)));
  }
  HuntRecord all = hunts[order.front()].record;
  if (order.size() == 1) return all;
  all.shard = {};
  all.small.clear();
  all.seconds = 0;
  std::vector<sim::HuntState> states;
  for (const std::size_t at : order) {
    all.seconds = std::max(all.seconds, hunts[at].record.seconds);
    states.push_back(hunts[at].record.state);
  }
  all.state = sim::join_shards(states);
  for (const std::size_t at : order) keep_small(all, hunts[at].record);
  return all;
}

std::vector<HuntRecord::Part> parts_of(const HuntRecord& record) {
  if (!record.joined.empty()) return record.joined;
  return {{.seed = record.seed, .runs = record.state.runs}};
}

HuntRecord merge_seeds(std::vector<ReadHunt> hunts) {
  if (hunts.size() == 1) return std::move(hunts.front().record);
  std::map<std::uint64_t, std::string> seeds;
  for (const ReadHunt& hunt : hunts) {
    for (const HuntRecord::Part& part : parts_of(hunt.record)) {
      const auto [at, is_new] = seeds.try_emplace(part.seed, hunt.path);
      if (!is_new)
        throw BadUsage(
            fmt::format("{}: has the hunt of seed {}, as has {}; expected hunts of different seeds, or "
                        "shards of one without feedback",
                        hunt.path, part.seed, at->second));
    }
  }
  std::sort(hunts.begin(), hunts.end(),
            [](const ReadHunt& a, const ReadHunt& b) { return a.record.seed < b.record.seed; });
  HuntRecord all = hunts.front().record;
  all.asked = std::nullopt;
  all.seconds = 0;
  all.joined.clear();
  all.small.clear();
  std::vector<sim::HuntState> states;
  for (const ReadHunt& hunt : hunts) {
    all.seconds = std::max(all.seconds, hunt.record.seconds);
    const std::vector<HuntRecord::Part> parts = parts_of(hunt.record);
    all.joined.insert(all.joined.end(), parts.begin(), parts.end());
    states.push_back(hunt.record.state);
  }
  all.state = sim::join_hunts(states);
  for (const ReadHunt& hunt : hunts) keep_small(all, hunt.record);
  return all;
}

}  // namespace

HuntRecord merge_hunts(std::vector<ReadHunt> hunts) {
  std::vector<SettingsFile> files;
  for (const ReadHunt& hunt : hunts) files.push_back({hunt.path, settings_of(hunt.record)});
  const bool feedback = hunts.front().record.feedback;
  require_same(files, feedback ? "hunts of one lock" : "shards of one hunt");
  return feedback ? merge_seeds(std::move(hunts)) : merge_shards(std::move(hunts));
}

}  // namespace holdfast::tools
