#include "sim/cluster/clock_control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "lib/runtime/check.h"
#include "sim/cluster/clock_shim.h"

namespace holdfast::sim {
namespace {

void store(std::int64_t& into, std::int64_t value) { __atomic_store_n(&into, value, __ATOMIC_RELEASE); }
std::int64_t load(const std::int64_t& from) { return __atomic_load_n(&from, __ATOMIC_ACQUIRE); }

}  // namespace

ClockControl::ClockControl(std::string file) : file_(std::move(file)) {
  const int fd = ::open(file_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot create " + file_);
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, sizeof(HoldfastClock)) == 0) {
    memory = ::mmap(nullptr, sizeof(HoldfastClock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  ::close(fd);
  if (memory == MAP_FAILED) throw std::system_error(error, std::generic_category(), "cannot map " + file_);
  shared_ = static_cast<HoldfastClock*>(memory);
}

ClockControl::~ClockControl() { ::munmap(shared_, sizeof(HoldfastClock)); }

std::vector<std::pair<std::string, std::string>> ClockControl::environment() const {
  return environment(HOLDFAST_CLOCK_SHIM);
}

std::vector<std::pair<std::string, std::string>> ClockControl::environment(const std::string& library) const {
  return {{"LD_PRELOAD", library}, {HOLDFAST_CLOCK_VARIABLE, file_}};
}

bool ClockControl::attached() const { return load(shared_->attached) != 0; }

void ClockControl::step_wall(Duration by) { store(shared_->wall_ns, load(shared_->wall_ns) + by.count()); }

void ClockControl::set_drift(std::int64_t ppm) {
  HF_CHECK(!frozen(), "set_drift: a clock that stands still has no rate");
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  const std::int64_t gained =
      holdfast_gained_ns(now_ns - load(shared_->drifts_since_ns), load(shared_->drift_ppm));
  // Readers look again while the number is odd, or has changed.
  __atomic_add_fetch(&shared_->changes, 1, __ATOMIC_SEQ_CST);
  store(shared_->wall_ns, load(shared_->wall_ns) + gained);
  store(shared_->monotonic_ns, load(shared_->monotonic_ns) + gained);
  store(shared_->drifts_since_ns, now_ns);
  store(shared_->drift_ppm, ppm);
  __atomic_add_fetch(&shared_->changes, 1, __ATOMIC_SEQ_CST);
}

std::int64_t ClockControl::drift() const { return load(shared_->drift_ppm); }

void ClockControl::freeze(WallTime wall) {
  if (!frozen()) {
    set_drift(0);
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    store(shared_->monotonic_ns, load(shared_->monotonic_ns) + now.tv_sec * 1'000'000'000 + now.tv_nsec);
  }
  store(shared_->wall_ns, wall.time_since_epoch().count());
  store(shared_->frozen, 1);
}

void ClockControl::advance(Duration by) {
  HF_CHECK(frozen(), "advance: a clock that runs cannot be advanced exactly");
  step_wall(by);
  tick(by);
}

void ClockControl::tick(Duration by) {
  HF_CHECK(frozen(), "tick: a clock that runs needs no ticks");
  store(shared_->monotonic_ns, load(shared_->monotonic_ns) + by.count());
}

std::int64_t ClockControl::synced_bytes(const std::string& file) const {
  const std::uint64_t name = holdfast_file_name(file.c_str());
  for (const HoldfastSyncedFile& one : shared_->synced) {
    if (__atomic_load_n(&one.name, __ATOMIC_ACQUIRE) == name) return load(one.bytes);
  }
  return 0;
}

void ClockControl::forget_synced() {
  for (HoldfastSyncedFile& one : shared_->synced) one = {};
}

void ClockControl::fill_disk(bool full) { store(shared_->disk_full, full ? 1 : 0); }
void ClockControl::slow_disk(Duration by) { store(shared_->sync_delay_ns, by.count()); }
Duration ClockControl::disk_delay() const { return Duration(load(shared_->sync_delay_ns)); }

bool ClockControl::frozen() const { return load(shared_->frozen) != 0; }

WallTime ClockControl::wall() const {
  HF_CHECK(frozen(), "wall: a clock that runs has no one reading");
  return WallTime(Duration(load(shared_->wall_ns)));
}

}  // namespace holdfast::sim
