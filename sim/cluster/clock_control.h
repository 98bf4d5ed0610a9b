// ClockControl: the harness' end of the clock shim (clock_shim.c): shifts or freezes the clocks of a real
// server, which takes effect when the server next reads its clock, and knows what the server has synced.
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

  // Some program reads its clocks here: it has started, and the shim is in it.
  bool attached() const;

  // What a server needs in its environment to obey.
  std::vector<std::pair<std::string, std::string>> environment() const;
  // The same for whom another library is preloaded, which has the shim in it.
  std::vector<std::pair<std::string, std::string>> environment(const std::string& library) const;

  // Running or frozen: moves the wall clock by that much, the monotonic clock not at all.
  void step_wall(Duration by);

  // REQUIRES: running. Both clocks run `ppm` parts per million fast from now on (slow: negative).
  void set_drift(std::int64_t ppm);
  std::int64_t drift() const;

  // Both clocks stand still from now on, the wall clock at `wall`; the monotonic clock where it is now.
  void freeze(WallTime wall);
  // REQUIRES: frozen. Moves both clocks forward; the wall clock first, so that whatever the server does
  // because its monotonic clock moved sees the new wall clock.
  void advance(Duration by);
  // REQUIRES: frozen. Moves the monotonic clock only: periodic work of the server becomes due, no time
  // passes.
  void tick(Duration by);

  // How long the file of that name (without a folder) was when the server last began to sync it, of those
  // syncs that were over; 0: never.
  std::int64_t synced_bytes(const std::string& file) const;
  void forget_synced();  // its disk was erased. REQUIRES: the server does not run

  // Nothing more can be written to files: ENOSPC.
  void fill_disk(bool full);
  // Each sync of a file takes so much longer.
  void slow_disk(Duration by);
  Duration disk_delay() const;

  bool frozen() const;
  WallTime wall() const;  // REQUIRES: frozen

 private:
  std::string file_;
  HoldfastClock* shared_ = nullptr;
};

}  // namespace holdfast::sim
