// One simulated connection: two ends, what is under way between them, and the stream that a process holds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/net/network.h"
#include "sim/world/byte_ring.h"
#include "sim/world/sim_network.h"

namespace holdfast::sim {

struct SimEnd {
  SimLink* link = nullptr;
  SimNetwork* owner = nullptr;  // set while open
  const SimHost* host = nullptr;
  std::uint16_t port = 0;
  bool connected_from_here = false;
  SimEnd *next = nullptr, *previous = nullptr;  // in the owner's list

  ByteRing in;              // what the peer wrote: arrived, then under way
  std::size_t arrived = 0;  // readable
  bool eof = false;         // the end of the peer's stream arrived
  bool reset = false;       // the peer's reset arrived
  bool refused = false, established = false;
  bool closed = true;     // by this side; also before it opened
  bool finished = false;  // this side wrote its end of stream
  Fiber* reader = nullptr;
  Fiber* writer = nullptr;
};

class SimLink final : public EventSink {
 public:
  SimLink(SimFabric& fabric, std::uint64_t id) : fabric_(fabric), id_(id) {
    ends_[0].link = ends_[1].link = this;
  }

  void retain() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) delete this;
  }

  SimEnd& end(int which) { return ends_[which]; }
  SimEnd& peer(SimEnd& end) { return &end == &ends_[0] ? ends_[1] : ends_[0]; }

  void open(SimEnd& end, SimNetwork& owner);
  void close(SimEnd& end) noexcept;
  void abort(SimEnd& end) noexcept;  // close with a reset
  void finish(SimEnd& end) noexcept;
  IoResult read(SimEnd& end, std::span<char> into, MonotonicTime deadline);
  IoResult write(SimEnd& end, std::string_view bytes, MonotonicTime deadline);
  // Asks the listener at the far end; returns when it answered or the deadline passed.
  IoStatus connect(SimEnd& end, MonotonicTime deadline);

  void deliver(std::uint32_t what, std::uint32_t value) override;
  void discard() noexcept override { release(); }

 private:
  enum Kind : std::uint32_t { kData, kFin, kReset, kConnect, kAccepted, kRefused };
  ~SimLink() = default;
  void send(Kind kind, SimEnd& to, std::uint32_t value = 0);
  void shut(SimEnd& end) noexcept;
  void wake(Fiber* fiber) noexcept {
    if (fiber != nullptr) fabric_.scheduler.wake(*fiber);
  }
  std::size_t window_of(SimEnd& end);
  void arrived(SimEnd& end, std::uint32_t bytes);
  void requested(SimEnd& end);

  SimFabric& fabric_;
  const std::uint64_t id_;
  int references_ = 0;
  bool began_ = false, encrypted_ = false;  // something has arrived; by TLS
  SimEnd ends_[2];                          // 0 connects, 1 accepts
};

// Holds one reference to its link.
class SimStream final : public Stream {
 public:
  explicit SimStream(SimEnd& end) : end_(end) { end_.link->retain(); }
  ~SimStream() override {
    end_.link->close(end_);
    end_.link->release();
  }
  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    return end_.link->read(end_, into, deadline);
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    return end_.link->write(end_, bytes, deadline);
  }
  void finish_writing() noexcept override { end_.link->finish(end_); }
  void close() noexcept override { end_.link->close(end_); }
  void reset() noexcept override { end_.link->abort(end_); }
  Endpoint local() const override { return {end_.host->address, end_.port}; }
  Endpoint peer() const override {
    const SimEnd& other = end_.link->peer(end_);
    return {other.host->address, other.port};
  }

 private:
  SimEnd& end_;
};

}  // namespace holdfast::sim
