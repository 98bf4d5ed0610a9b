// What several threads write to one hold.
#include "lib/lock/engine/hold.h"

#include <gtest/gtest.h>

#include "lib/runtime/thread_runtime.h"

namespace holdfast {
namespace {

// The watchdog and extend() move the end of a hold on at the same time. One of them moves it far, the other
// one over and over to where it was before. The machine draws whether a load and a store would meet here.
TEST(HoldTest, NobodyTakesBackWhatAnotherHasRaised) {
  ThreadRuntime runtime;
  std::atomic<Duration::rep> until_ns{0};
  std::atomic<bool> over = false;
  Task other = runtime.spawn("other", [&] {
    while (!over) raise(until_ns, MonotonicTime(Duration(1)));
  });
  while (until_ns == 0) runtime.yield();
  for (Duration::rep to = 2; to < 1'000'000 && !over; ++to) {
    raise(until_ns, MonotonicTime(Duration(to)));
    for (int look = 0; look < 4 && !over; ++look) over = until_ns != to;
  }
  EXPECT_FALSE(over);
  over = true;
  other.join();
}

}  // namespace
}  // namespace holdfast
