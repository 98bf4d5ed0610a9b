// Drawn histories of the data structures that there are models of: what clients of a correct one would have
// recorded, and a twin with one answer changed that no order explains. Keys and registers are five. For tests
// and benchmarks.
//
// A request takes effect 1 to 200 us after its call, and its return follows 1 to 200 us later. With
// probability `unknown` the answer is lost: then it takes effect up to 10 ms after its call, or never, and
// the client goes on as a new process.
#pragma once

#include <cstdint>
#include <string>

#include "checker/history/history.h"

namespace holdfast::checker {

struct DrawData {
  std::string model = "kv";  // kv, multi-register, fifo-queue, unordered-queue, set or counter
  std::uint64_t operations = 1000;
  std::uint32_t clients = 10;
  double unknown = 0.005;
  std::uint64_t seed = 1;
  // A late read or dequeue returns what was there, or was taken out, long before.
  bool invalid = false;
};

History draw_data_history(const DrawData& options);

}  // namespace holdfast::checker
