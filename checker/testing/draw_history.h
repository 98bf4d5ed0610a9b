// Drawn lock histories: what clients of a correct mutex would have recorded, and a twin with one event moved,
// so that two clients hold one key. The verdict is known by construction. For tests and benchmarks.
//
// A client invokes an acquire on a drawn key. With probability `unknown` the request is lost: the client
// records `info` after 5 ms and goes on as process p + clients. Otherwise the request arrives after 1 to 200
// us. A free key is granted; at a held one the request queues, and a release grants a random waiter. The
// answer takes 1 to 200 us. The holder releases 1 to 500 us later; with probability `unknown` the answer to
// that is lost, though it took effect.
#pragma once

#include <cstdint>
#include <optional>

#include "checker/history/history.h"

namespace holdfast::checker {

struct DrawOptions {
  std::uint64_t operations = 1000;
  std::uint32_t keys = 1;
  std::uint32_t clients = 10;
  double unknown = 0.005;
  double refused =
      0;  // with this probability a client first tries to release what it does not hold, which fails
  std::uint64_t seed = 1;
  // The latest place (within 99%) where B, the next holder after A, had asked before A released: the grant of
  // B is moved right before the invocation of A's release.
  bool invalid = false;
};

struct DrawnHistory {
  History history;
  std::optional<std::size_t> violation;  // invalid: position of the grant that was moved
};

DrawnHistory draw_lock_history(const DrawOptions& options);

}  // namespace holdfast::checker
