// Commands as they go over the wire: an array of bulk strings, appended to a buffer that carries many.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::redis {

using Arguments = std::span<const std::string_view>;  // keys or arguments; refers to the caller's memory

// One command whose arguments lie in up to three places (EVALSHA's head, its keys, its arguments), so that
// nothing need be copied together. Refers to the caller's memory.
struct CommandView {
  std::array<Arguments, 3> parts{};  // one after the other
  // How many arguments, the name included.
  std::size_t size() const noexcept { return parts[0].size() + parts[1].size() + parts[2].size(); }
  // The command's name as given, "" if empty.
  std::string_view name() const noexcept;
};

// Appends the RESP form. REQUIRES: size() > 0.
void append_command(std::string& out, const CommandView& command);

}  // namespace holdfast::redis
