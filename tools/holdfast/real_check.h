// RealCheck: whether what was made small shows on real servers, too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/scenario/document.h"

namespace holdfast::tools {

// How the runs of a scenario on redis-server processes ended.
struct RealCheck {
  std::uint64_t violated = 0, holds = 0, unknown = 0;  // the promise that was asked for
  std::string cannot;                                  // why they cannot run it; "": they can
  std::uint64_t runs() const { return violated + holds + unknown; }
};

// Runs its base with the seeds 1 to `runs`, one after another. `promise`: a check, or a check and the kind of
// its witness ("lease-exclusion/double-grant"); another kind does not count as that. `stop`: asked between
// runs and within. Throws MissingServer.
RealCheck on_real_servers(const sim::Value& document, const std::string& promise, std::uint64_t runs,
                          const std::function<bool()>& stop = {});

}  // namespace holdfast::tools
