// ClockControl: the harness' end of the clock shim (clock_shim.c): shifts or freezes the clocks of a real
// server. It takes effect when the server next reads its clock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/runtime/time.h"

struct HoldfastClock;

namespace holdfast::sim {

class ClockControl {
 public:
  // Creates `file` with unshifted, running clocks. Throws std::system_error.
  explicit ClockControl(std::string file);
  ~ClockControl();
  ClockControl(const ClockControl&) = delete;
  ClockControl& operator=(const ClockControl&) = delete;

  // What a server needs in its environment to obey.
  std::vector<std::pair<std::string, std::string>> environment() const;

  // Running or frozen: moves the wall clock by that much, the monotonic clock not at all.
  void step_wall(Duration by);

  // Both clocks stand still from now on, the wall clock at `wall`; the monotonic clock where it is now.
  void freeze(WallTime wall);
  // REQUIRES: frozen. Moves both clocks forward; the wall clock first, so that whatever the server does
  // because its monotonic clock moved sees the new wall clock.
  void advance(Duration by);
  // REQUIRES: frozen. Moves the monotonic clock only: periodic work of the server becomes due, no time
  // passes.
  void tick(Duration by);

  bool frozen() const;
  WallTime wall() const;  // REQUIRES: frozen

 private:
  std::string file_;
  HoldfastClock* shared_ = nullptr;
};

}  // namespace holdfast::sim
