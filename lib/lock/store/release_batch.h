// What is given back together, in as few requests and round trips as it can: see Store::release_all().
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/lock/store/store.h"
#include "lib/redis/client.h"

namespace holdfast {

// [parks] Sends one request for each release, and one for all that withdraw from one queue, in one group.
// One round trip; one more for scripts that the server does not know, and one for those withdrawn that held
// the lock by then. What became of each: nullopt when it was answered.
std::vector<std::optional<redis::Error>> release_together(redis::Client& client,
                                                          std::span<const Store::Release> releases,
                                                          const redis::CallOptions& options);

}  // namespace holdfast
