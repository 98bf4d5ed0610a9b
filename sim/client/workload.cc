#include "sim/client/workload.h"

#include <algorithm>
#include <stdexcept>

#include "sim/client/workload_kind.h"

namespace holdfast::sim {

std::int64_t figure(const std::vector<Figure>& figures, std::string_view name) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [name](const Figure& figure) { return figure.name == name; });
  return found == figures.end() ? 0 : found->value;
}

const LockKind& lock_kind_of(const WorkloadOptions& options) {
  const LockKind* const kind = options.own_lock ? options.own_lock : find_lock_kind(options.lock);
  if (kind == nullptr) throw std::invalid_argument("no lock is called '" + options.lock + "'");
  return *kind;
}

std::unique_ptr<Workload> make_workload(World& world, Recorder& recorder, const WorkloadOptions& options) {
  const WorkloadKind* const kind = find_workload_kind(options.kind);
  if (kind == nullptr) throw std::invalid_argument("no workload is called '" + options.kind + "'");
  for (const auto& [name, value] : options.own) {
    const auto key = std::find_if(kind->keys.begin(), kind->keys.end(),
                                  [&name = name](const Setting& setting) { return setting.name == name; });
    if (key == kind->keys.end() || !fits(key->type, value))
      throw std::invalid_argument("workload '" + options.kind + "' has no key '" + name + "' of that type");
  }
  const LockKind& lock = lock_kind_of(options);
  if (lock.latch != kind->latch)
    throw std::invalid_argument("a latch and a workload that drives latches need one another");
  if (kind->problem != nullptr) {
    if (const auto problem = kind->problem(options, lock)) throw std::invalid_argument(problem->what);
  }
  return kind->make(world, recorder, options);
}

}  // namespace holdfast::sim
