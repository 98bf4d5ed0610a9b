#include "lib/redis/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace holdfast::redis {
namespace {

// Against std::deque, through many turns of the ring and several growths.
TEST(Ring, DoesWhatADequeDoes) {
  std::minstd_rand draw(7);
  Ring<int> ring;
  std::deque<int> deque;
  for (int step = 0; step < 20'000; ++step) {
    const auto what = draw() % 100;
    if (what < 51 || deque.empty()) {
      ring.push_back(step);
      deque.push_back(step);
    } else if (what < 90) {
      ring.pop_front();
      deque.pop_front();
    } else if (what < 99) {
      const std::size_t index = draw() % deque.size();
      ring.erase(index);
      deque.erase(deque.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (step % 7 == 0) {
      ring.clear();
      deque.clear();
    }
    ASSERT_EQ(ring.size(), deque.size());
    ASSERT_EQ(ring.empty(), deque.empty());
    if (!deque.empty()) {
      ASSERT_EQ(ring.front(), deque.front());
    }
    for (std::size_t i = 0; i < deque.size(); ++i) ASSERT_EQ(ring[i], deque[i]);
  }
}

}  // namespace
}  // namespace holdfast::redis
