#include "sim/world/sim_link.h"

#include <algorithm>
#include <utility>

#include "lib/runtime/check.h"
#include "sim/world/rare.h"
#include "sim/world/sim_listener.h"

namespace holdfast::sim {
namespace {

// Registers the running fiber as the one that waits at an end.
class Waiting {
 public:
  Waiting(Fiber*& place, Fiber& fiber) : place_(place) {
    HF_CHECK(place_ == nullptr, "two tasks read, or write, the same stream");
    place_ = &fiber;
  }
  ~Waiting() { place_ = nullptr; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Fiber*& place_;
};

// Keeps a link while a task is in one of its calls: the stream may be destroyed meanwhile.
class Retained {
 public:
  explicit Retained(SimLink& link) : link_(link) { link_.retain(); }
  ~Retained() { link_.release(); }
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;

 private:
  SimLink& link_;
};

}  // namespace

// What its peer may send before it has read.
std::size_t SimLink::window_of(SimEnd& end) {
  std::size_t window = kSimWindowBytes;
  for (const SimEnd* const side : {&end, &peer(end)}) {
    if (side->owner != nullptr && side->owner->group_.rare)
      window = std::min(window, side->owner->group_.rare->window(window));
  }
  return window;
}

void SimLink::send(Kind kind, SimEnd& to, std::uint32_t value) {
  retain();
  fabric_.post(*this, kind << 1 | (&to == &ends_[1] ? 1u : 0u), value);
}

void SimLink::open(SimEnd& end, SimNetwork& owner) {
  end.owner = &owner;
  end.closed = false;
  end.next = nullptr;
  end.previous = owner.last_end_;
  (owner.last_end_ != nullptr ? owner.last_end_->next : owner.first_end_) = &end;
  owner.last_end_ = &end;
}

void SimLink::shut(SimEnd& end) noexcept {
  SimNetwork& owner = *std::exchange(end.owner, nullptr);
  (end.previous != nullptr ? end.previous->next : owner.first_end_) = end.next;
  (end.next != nullptr ? end.next->previous : owner.last_end_) = end.previous;
  if (end.connected_from_here) owner.host_.ports.erase(end.port);
  end.closed = true;
  end.in.drop(std::exchange(end.arrived, 0));
  wake(end.reader);
  wake(end.writer);
  wake(peer(end).writer);
}

void SimLink::close(SimEnd& end) noexcept {
  if (end.closed) return;
  const bool unread = end.arrived > 0;
  if (!end.reset && unread) {
    send(kReset, peer(end));
  } else if (!end.reset && !end.finished) {
    end.finished = true;
    send(kFin, peer(end));
  }
  shut(end);
}

void SimLink::abort(SimEnd& end) noexcept {
  if (end.closed) return;
  if (!end.reset) send(kReset, peer(end));
  shut(end);
}

void SimLink::finish(SimEnd& end) noexcept {
  if (end.closed || end.reset || end.finished) return;
  end.finished = true;
  send(kFin, peer(end));
}

IoResult SimLink::read(SimEnd& end, std::span<char> into, MonotonicTime deadline) {
  const Retained retained(*this);
  Scheduler& scheduler = fabric_.scheduler;
  for (;;) {
    if (scheduler.cancelled()) return {IoStatus::closed};
    if (end.closed) return {IoStatus::closed};
    if (end.reset) return {IoStatus::reset};
    if (end.arrived > 0) {
      std::size_t count = std::min(end.arrived, into.size());
      if (const auto& rare = end.owner->group_.rare) count = rare->part_of(count);
      end.in.copy(count, into.data());
      if (Past* const past = scheduler.past()) past->took({into.data(), count});
      end.in.drop(count);
      end.arrived -= count;
      SimEnd& writer = peer(end);
      if (writer.writer != nullptr && end.in.size() <= window_of(end) / 4 * 3) wake(writer.writer);
      return {IoStatus::ok, count};
    }
    if (end.eof) return {IoStatus::eof};
    const Waiting waiting(end.reader, scheduler.current());
    if (!scheduler.suspend("data on a stream", end.owner->group_.clock, deadline) && end.arrived == 0 &&
        !end.eof && !end.reset && !end.closed) {
      return scheduler.cancelled() ? IoResult{IoStatus::closed} : IoResult{IoStatus::timed_out};
    }
  }
}

IoResult SimLink::write(SimEnd& end, std::string_view bytes, MonotonicTime deadline) {
  const Retained retained(*this);
  Scheduler& scheduler = fabric_.scheduler;
  std::size_t written = 0;
  for (;;) {
    if (scheduler.cancelled()) return {IoStatus::closed, written};
    if (end.closed || end.finished) return {IoStatus::closed, written};
    if (end.reset) return {IoStatus::reset, written};
    SimEnd& to = peer(end);
    const std::size_t window = window_of(to);
    const std::size_t room = window - std::min(window, to.in.size());
    const std::size_t count = std::min(room, bytes.size() - written);
    if (count > 0) {
      to.in.append(bytes.substr(written, count));
      send(kData, to, static_cast<std::uint32_t>(count));
      written += count;
    }
    if (written == bytes.size()) return {IoStatus::ok, written};
    const Waiting waiting(end.writer, scheduler.current());
    if (!scheduler.suspend("room on a stream", end.owner->group_.clock, deadline) && !end.closed &&
        !end.reset && to.in.size() >= window) {
      return {scheduler.cancelled() ? IoStatus::closed : IoStatus::timed_out, written};
    }
  }
}

// The first packet may be lost (Doorway): it is sent again as by Linux (RFC 6298, tcp_syn_retries = 6).
IoStatus SimLink::connect(SimEnd& end, MonotonicTime deadline) {
  constexpr int kTries = 7;
  Scheduler& scheduler = fabric_.scheduler;
  const ProcessClock& clock = end.owner->group_.clock;
  Duration patience = std::chrono::seconds(1);
  MonotonicTime again = clock.monotonic(scheduler.now()) + patience;
  const auto ask = [&] {
    if (Past* const past = scheduler.past()) past->asks_to_connect(peer(end).host->address);
    send(kConnect, peer(end));
  };
  ask();
  for (int tries = 1; !end.established;) {
    const Waiting waiting(end.reader, scheduler.current());
    const bool in_time = scheduler.suspend("a connection", clock, std::min(deadline, again));
    if (scheduler.cancelled() || end.closed) return IoStatus::closed;
    if (end.refused) return IoStatus::refused;
    if (in_time || end.established) continue;
    if (again >= deadline || ++tries > kTries) return IoStatus::timed_out;
    ask();
    patience *= 2;
    again += patience;
  }
  return IoStatus::ok;
}

// What passes stands in the trace. Of TLS that is its length: OpenSSL draws keys by itself.
void SimLink::arrived(SimEnd& end, std::uint32_t bytes) {
  constexpr char kTlsHandshake = '\x16';  // the first byte of who connects (RFC 8446, section 5.1)
  if (!std::exchange(began_, true)) encrypted_ = end.in.piece(end.arrived, 1).front() == kTlsHandshake;
  if (encrypted_) fabric_.trace.add(std::uint64_t{bytes});
  for (std::size_t done = 0; done < bytes && !encrypted_;) {
    const std::string_view piece = end.in.piece(end.arrived + done, bytes - done);
    fabric_.trace.add(piece);
    done += piece.size();
  }
  if (!end.closed && !end.reset) {
    end.arrived += bytes;
    wake(end.reader);
    return;
  }
  end.in.drop(bytes);
  SimEnd& from = peer(end);
  if (end.closed && !from.closed && !from.reset) send(kReset, from);  // the end was closed meanwhile
}

void SimLink::requested(SimEnd& end) {
  const auto host = fabric_.hosts.find(end.host->address);
  const auto listener = host->second.listeners.find(end.port);
  SimEnd& from = peer(end);
  if (from.closed || !end.closed) return;  // who asked gave up, or was let in by an earlier packet
  const bool listens = listener != host->second.listeners.end();
  const Knock knock = listens ? listener->second->knock(from.host->address) : Knock::refuse;
  if (knock == Knock::lose) return;
  send(knock == Knock::let_in && listener->second->offer(end) ? kAccepted : kRefused, from);
}

void SimLink::deliver(std::uint32_t what, std::uint32_t value) {
  SimEnd& end = ends_[what & 1];
  fabric_.trace.add(static_cast<std::uint64_t>(fabric_.time.now()));
  fabric_.trace.add(id_ << 4 | what);
  switch (static_cast<Kind>(what >> 1)) {
    case kData: arrived(end, value); break;
    case kFin:
      end.eof = true;
      wake(end.reader);
      break;
    case kReset:
      if (end.closed) break;
      end.reset = true;
      end.in.drop(std::exchange(end.arrived, 0));
      wake(end.reader);
      wake(end.writer);
      break;
    case kConnect:
      if (Past* const past = fabric_.scheduler.past()) past->asked_to_connect();
      requested(end);
      break;
    case kAccepted:
      end.established = true;
      wake(end.reader);
      break;
    case kRefused:
      end.refused = true;
      wake(end.reader);
      break;
  }
  release();
}

}  // namespace holdfast::sim
