// Drawn histories of a compare-and-set register: what clients of a correct register would have recorded, and
// a twin in which one read returns a value that the register cannot have had. The verdict is known by
// construction.
//
// A client draws a read, a write or a compare-and-set. Its request arrives after 1 to 200 us and takes effect
// there. The answer takes 1 to 200 us. With probability `unknown` the answer is lost: a read then fails with
// `timed-out`; a write or a compare-and-set takes effect up to 10 ms after its invocation, or never, the
// client records `info` after 5 ms and goes on as process p + clients. A compare-and-set that does not find
// the value that it expects fails.
//
// Why the twin is not linearizable: let w be an operation with a known outcome, which leaves the register at
// v (a write or a compare-and-set) or finds it at v (a read), and r a read that is invoked after w completed.
// Only operations that completed after w was invoked, and were invoked before r completed, can stand between
// w and r in any order. If none of them leaves v', and v' is not v, then r cannot return v'. The twin's r
// returns such a v'.
#pragma once

#include <cstdint>
#include <optional>

#include "checker/history/history.h"

namespace holdfast::checker {

struct DrawRegisterOptions {
  std::uint64_t operations = 300;
  std::uint32_t clients = 10;
  std::int64_t values = 5;  // written: 0 .. values - 1
  Value initial = {};       // nothing: nil
  double unknown = 0;
  std::uint64_t seed = 1;
  bool invalid = false;  // the latest read (within 99% of the events) that can be changed as above
  bool with_cas = true;  // false: reads and writes only
};

struct DrawnRegister {
  History history;
  std::optional<std::size_t> violation;  // invalid: position of the completion of the read that was changed
};

DrawnRegister draw_register_history(const DrawRegisterOptions& options);

}  // namespace holdfast::checker
