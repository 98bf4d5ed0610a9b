// BadProgram: a foreign program did what no client may do: it printed nonsense, failed, flooded, did not end.
// No defect of the harness, and nothing can be said about its lock.
#pragma once

#include <stdexcept>

namespace holdfast::sim {

class BadProgram : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace holdfast::sim
