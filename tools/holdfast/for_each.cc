#include "tools/holdfast/for_each.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::tools {

void for_each(unsigned jobs, std::size_t count, const std::function<void(std::size_t)>& one) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) one(i);
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::min<std::size_t>(jobs, count); ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace holdfast::tools
