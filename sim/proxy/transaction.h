// The commands of a transaction, taken out of its bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace holdfast::sim {

using QueuedCommand = std::function<void(const std::vector<std::string_view>& command, std::size_t index)>;

// Calls `with` for each command that stands between MULTI and the end of `request`, its last command (EXEC
// or DISCARD) not included, in their order. The reply of `index` among those of EXEC is the command's. A
// request without MULTI, of a client that waits for each answer, has none. O(bytes).
void each_queued(std::string_view request, const QueuedCommand& with);

}  // namespace holdfast::sim
