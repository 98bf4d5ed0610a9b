// Drawn lock histories: what clients of a correct mutex service would have recorded, and a twin with one
// event moved so that two hold one key. For tests and benchmarks: the verdict is known.
//
// A client invokes an acquire on a drawn key. With probability `unknown` the request is lost (info after 5
// ms, the client goes on as process p + clients); otherwise it arrives after 1 to 200 us. A free key is
// granted, a held one queues; a release grants a random waiter. The answer takes 1 to 200 us. The holder
// releases 1 to 500 us later; with probability `unknown` the answer to that is lost, though it took effect.
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
  std::uint64_t seed = 1;
  // The latest place (within 99%) where key k is held by A and its next holder B had already asked: B's grant
  // returns just before A sets out to release.
  bool invalid = false;
};

struct DrawnHistory {
  History history;
  std::optional<std::size_t> violation;  // invalid: position of the grant that was moved
};

DrawnHistory draw_lock_history(const DrawOptions& options);

}  // namespace holdfast::checker
