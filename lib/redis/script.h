// A Lua script and its SHA-1, both computed at build time from one .lua file (cmake/EmbedScripts).
#pragma once

#include <string_view>

namespace holdfast::redis {

struct Script {
  std::string_view name;  // the file's name without ".lua"
  std::string_view text;  // in Lua
  std::string_view sha1;  // 40 lower-case hex digits
};

}  // namespace holdfast::redis
