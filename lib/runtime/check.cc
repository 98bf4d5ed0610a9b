#include "lib/runtime/check.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::internal {

void check_failed(const char* file, int line, const char* condition, const char* why) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", file, line, condition, why);
  std::abort();
}

}  // namespace holdfast::internal
