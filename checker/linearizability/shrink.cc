// Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over
// groups of operations that belong together.
#include <algorithm>
#include <map>

#include "checker/linearizability/linearizability.h"

namespace holdfast::checker {

namespace {

using Group = std::vector<std::size_t>;

std::vector<std::size_t> flat(const std::vector<Group>& groups) {
  std::vector<std::size_t> all;
  for (const Group& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end());
  return all;
}

class Shrinker {
 public:
  Shrinker(const std::vector<Operation>& operations,
           const std::function<bool(const std::vector<Operation>&)>& fails, std::size_t most)
      : operations_(operations), fails_(fails), left_(most) {}

  // Leaves out groups, first half of them at a time, then ever fewer, until none can be left out.
  std::vector<Group> reduce(std::vector<Group> groups) {
    std::size_t share = std::max<std::size_t>(groups.size() / 2, 1);
    while (left_ > 0) {
      bool less = false;
      for (std::size_t begin = 0; begin < groups.size() && left_ > 0;) {
        std::vector<Group> rest(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(begin));
        const std::size_t end = std::min(begin + share, groups.size());
        rest.insert(rest.end(), groups.begin() + static_cast<std::ptrdiff_t>(end), groups.end());
        if (!rest.empty() && still(flat(rest))) {
          groups = std::move(rest);
          less = true;
        } else {
          begin = end;
        }
      }
      if (share == 1 && !less) break;
      if (share > 1) share = std::max<std::size_t>(share / 2, 1);
    }
    return groups;
  }

 private:
  bool still(const std::vector<std::size_t>& kept) {
    --left_;
    std::vector<Operation> part;
    part.reserve(kept.size());
    for (const std::size_t at : kept) part.push_back(operations_[at]);
    return fails_(part);
  }

  const std::vector<Operation>& operations_;
  const std::function<bool(const std::vector<Operation>&)>& fails_;
  std::size_t left_;
};

}  // namespace

std::vector<std::size_t> shrink(const std::vector<Operation>& operations,
                                const std::function<bool(const std::vector<Operation>&)>& fails,
                                std::size_t most) {
  std::map<Symbol, Group> by_owner;
  for (std::size_t i = 0; i < operations.size(); ++i) by_owner[operations[i].owner].push_back(i);
  std::vector<Group> groups;
  for (auto& [owner, group] : by_owner) groups.push_back(std::move(group));
  Shrinker shrinker(operations, fails, most);
  std::vector<std::size_t> kept = flat(shrinker.reduce(std::move(groups)));

  // An acquire, its owner's place in the queue and the release that follows it are one group. Every other
  // operation is a group of its own.
  groups.clear();
  std::map<Symbol, std::size_t> open;  // by owner: the group of its last acquire
  for (const std::size_t at : kept) {
    const Operation& each = operations[at];
    const auto mine = open.find(each.owner);
    const bool of_queue = mine != open.end() && operations[groups[mine->second].front()].f == Function::queue;
    if (mine != open.end() &&
        (each.f == Function::release || each.f == Function::lost ||
         (each.f == Function::acquire && of_queue && groups[mine->second].size() == 1))) {
      groups[mine->second].push_back(at);
      if (each.f == Function::release) open.erase(mine);
      continue;
    }
    if (each.f == Function::acquire || each.f == Function::queue) open[each.owner] = groups.size();
    groups.push_back({at});
  }
  kept = flat(shrinker.reduce(std::move(groups)));
  return kept;
}

}  // namespace holdfast::checker
