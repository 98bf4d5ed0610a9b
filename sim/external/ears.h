// Ears: reads what several programs print, and says what came before what.
//
// A program's line reaches the harness some time after it was written, and nobody knows how long after. What
// is known, and all that verdicts on foreign programs stand on, is this:
//
// listen() reads every pipe again and again, until it went over all of them and found nothing new. The lines
// that it collected are a *round*. Let line A be of an earlier round than line B. When A had been read, every
// pipe was still looked at once more, and B was not there. So B was written after A had been read: A came
// before B, for certain. And what made A possible came no later than A: a client is granted a lock after
// another one gave it back, and that one printed its `invoke` of the release before. That line was in its
// pipe when A was read, so it is of A's round or an earlier one.
//
// All lines of a round get the same time, its end; to the checks, equal times of different processes are
// concurrent. Therefore
//   - no false alarm: a hold is from the time of its `ok` to the time of its release's `invoke`. If two holds
//     overlap by these times, each `ok` is of an earlier round than the other's `invoke`: both were held at
//     once, however late the harness read.
//   - no true violation is lost, unless it began and ended between two looks at the pipes: then the `ok` of
//     the one and the `invoke` of the other are of one round. listen() is called when a pipe has something,
//     so that is about the time in which the machine wakes a process.
//
// Where a line's own time counts, and not only its order (a lease that it tells begins when it was written),
// a line has a time before which it was not written: its pipe was empty then. Pipes are looked at every
// kTick, so that this is never much too early.
//
// A program must write each line at once, and `invoke` before it asks, `ok` after it was told.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/world/world.h"

namespace holdfast::sim {

// One pipe. Its descriptor is closed with it.
class Ear {
 public:
  explicit Ear(int fd);
  ~Ear();
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  std::string take() { return std::exchange(fresh_, {}); }  // what is new, whole lines or not
  bool at_end() const { return at_end_; }                   // nothing more will come
  std::uint64_t bytes() const { return bytes_; }            // so far
  // What take() returns was written after that.
  std::int64_t not_before_ns() const { return not_before_ns_; }

 private:
  friend class Ears;
  bool drain(const World& world, std::span<char> chunk);

  const int fd_;
  std::string fresh_;
  bool at_end_ = false;
  std::uint64_t bytes_ = 0;
  std::int64_t not_before_ns_ = 0, silent_ns_ = 0;
};

class Ears {
 public:
  static constexpr std::chrono::milliseconds kTick{2};
  // More than that in one round is a flood: listen() returns, and the round means nothing.
  static constexpr std::uint64_t kFlood = std::uint64_t{64} << 20;

  // `looked` is called after each look at a pipe: there tests let programs go on.
  explicit Ears(World& world, std::function<void()> looked = {});
  ~Ears();
  Ears(const Ears&) = delete;
  Ears& operator=(const Ears&) = delete;

  // `fd` is read from now on. Throws std::system_error.
  std::shared_ptr<Ear> open(int fd);
  void close(const std::shared_ptr<Ear>& ear);

  // [parks] Until some pipe has something, or a tick is over.
  void wait();
  // One round. Does not park.
  void listen();
  // The end of the last round: the time of all its lines.
  std::int64_t heard_ns() const { return heard_ns_; }

 private:
  World& world_;
  const std::function<void()> looked_;
  int epoll_ = -1;
  std::vector<std::shared_ptr<Ear>> ears_;
  std::vector<char> chunk_ = std::vector<char>(65536);  // a fiber's stack is small
  std::int64_t heard_ns_ = 0;
};

// A pipe of which `read` does not block. Both are closed by exec. Throws std::system_error.
struct Pipe {
  int read = -1, write = -1;
};
Pipe make_pipe();
void close_fd(int& fd) noexcept;  // and sets it to -1

}  // namespace holdfast::sim
