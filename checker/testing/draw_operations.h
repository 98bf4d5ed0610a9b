// Drawn operations of one key, under any registered model but leased ones: what clients of a correct object
// would have seen. For tests and benchmarks of engines.
//
// A request takes effect 1 to 200 us after its call, or as soon after that as the model allows it (an acquire
// waits for the release), in the order of arrival; its return follows 1 to 200 us later. With probability
// `unknown` the outcome of an acquire or a release is unknown, and the client goes on as a new process and
// owner 5 ms later. Such a release takes effect up to 10 ms after its call; such an acquire never does, since
// nobody would release what it took. Registers are those of
// draw_register.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct DrawOperations {
  std::string model = "mutex";  // REQUIRES: find_model() knows it, and it has no leases
  std::uint64_t operations = 1000;
  std::uint32_t clients = 10;
  double unknown = 0;
  double resize = 0;  // semaphore: with this probability a request changes the limit, to 1 .. 2 * permits;
                      // one at a time
  std::uint64_t seed = 1;
  // One return is wrong: of a register as in draw_register.h; of a lock the acquire of the last third that
  // waited longest, as if it had been granted right after its call.
  bool invalid = false;
  ModelOptions options = {};
};

std::vector<Operation> draw_operations(const DrawOperations& options);

}  // namespace holdfast::checker
