#include "sim/world/fiber_runtime.h"

#include <string>
#include <system_error>
#include <utility>

namespace holdfast::sim {

Task FiberRuntime::spawn(std::string_view role, std::function<void()> body) {
  for (const auto& [number, refuses] : group_.refusals) {
    if (refuses(role))
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  return fibers::FiberRuntime::spawn(role, std::move(body));
}

void FiberRuntime::fork_from(FiberRuntime& parent, std::string_view child) {
  rng_ = parent.rng_;
  Rng ahead =
      parent.rng_.unnamed();  // forks at one moment have one state: nothing of the parent's is used up
  const std::uint64_t apart = ahead.next();
  parent.renewals_ = Rng::derive(apart, "parent");
  renewals_ = Rng::derive(apart, "child " + std::string(child));
}

}  // namespace holdfast::sim
