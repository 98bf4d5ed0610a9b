// What shards must have in common, and that all of them are there.
#pragma once

#include <string>
#include <vector>

#include "tools/holdfast/shard.h"

namespace holdfast::tools {

// Something that shards were asked, as people call it.
struct Setting {
  std::string name, value;
  bool long_text = false;  // that it differs is told, not how
};

// What one file has of it, in one order in all files.
struct SettingsFile {
  std::string path;
  std::vector<Setting> settings;
};
// Throws BadUsage at the first that differs. `expected`: "shards of one hunt".
void require_same(const std::vector<SettingsFile>& files, const std::string& expected);

struct ShardFile {
  std::string path;
  Shard shard;
};
// Where shard 1, 2, ... is in `files`. Throws BadUsage when one is there twice or missing.
std::vector<std::size_t> in_order_of_shards(const std::vector<ShardFile>& files);

}  // namespace holdfast::tools
