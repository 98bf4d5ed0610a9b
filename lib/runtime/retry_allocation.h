// Memory that does not come from operator new, taken as operator new takes it: when there is none, the
// handler of std::set_new_handler may make room, until it gives up.
#pragma once

#include <new>

namespace holdfast {

// What `take` returns: memory, or nullptr when there is none and no handler either. The handler may throw.
template <typename Take>
void* retry_allocation(const Take& take) {
  for (;;) {
    if (void* const memory = take()) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) return nullptr;
    handler();
  }
}

}  // namespace holdfast
