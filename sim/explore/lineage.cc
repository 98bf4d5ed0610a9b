#include "sim/explore/lineage.h"

#include <algorithm>

#include "lib/runtime/check.h"
#include "sim/world/trace.h"

namespace holdfast::sim {

void Lineage::add(const Chooser& chooser, bool broke) {
  const Path& path = chooser.path();
  const auto place = static_cast<std::uint32_t>(runs_.size());
  Run run{.size = static_cast<std::uint32_t>(path.size()),
          .points = static_cast<std::uint32_t>(chooser.asked().size())};
  Trace digest;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i + 1 == path.size()) {
      const auto parent = places_.find(digest.digest());
      HF_CHECK(parent != places_.end(), "a parent comes before its children");
      run.parent = parent->second;
      run.last = path[i];
    }
    digest.add(std::uint64_t{path[i].point} << 32 | path[i].choice);
  }
  places_.emplace(digest.digest(), place);
  for (const Chooser::Moment& moment : chooser.moments()) {
    if (!moment.state) continue;
    const auto [found, is_new] = states_.try_emplace(*moment.state, place);
    if (!chooser.joined() || &moment != &chooser.moments().back()) continue;
    run.same_from = run.points;
    run.same_as = found->second;
  }
  run.end = chooser.joined() ? End::joined : broke ? End::broke : End::kept;
  runs_.push_back(run);
}

void Lineage::gone_into(const Chooser& chooser, std::uint32_t point) {
  Run& run = runs_.back();
  if (point >= run.points) return;
  for (const Chooser::Moment& moment : chooser.moments()) {
    if (moment.first != point || !moment.state) continue;
    run.same_from = point;
    run.same_as = states_.at(*moment.state);
  }
}

Path Lineage::path(std::size_t run) const {
  Path path;
  for (; runs_[run].size > 0; run = runs_[run].parent) path.push_back(runs_[run].last);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace holdfast::sim
