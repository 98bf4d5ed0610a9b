#include "sim/world/sim_network.h"

#include <system_error>

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {
constexpr std::size_t kWindowBytes = std::size_t{256} * 1024;
constexpr std::size_t kBacklog = 65536;
constexpr std::uint16_t kFirstPort = 20'000;
}  // namespace

// One direction. Owned by both ends together.
class Pipe final : public Timer {
 public:
  enum class Ending : std::uint8_t { none, fin, reset };

  Pipe(Fabric& fabric, std::uint64_t number) : fabric_(fabric), number_(number) {}
  ~Pipe() { fabric_.scheduler().timers().disarm(*this); }

  bool writable() const { return !ended_ && !reader_gone && !reset_; }
  bool has_room() const { return in_flight_bytes_ + arrived_.size() - taken_ < kWindowBytes; }

  std::size_t send(std::string_view bytes) {
    const std::size_t used = in_flight_bytes_ + arrived_.size() - taken_;
    const std::size_t size = std::min(bytes.size(), kWindowBytes - used);
    const std::int64_t at = fabric_.scheduler().now_ns() + fabric_.hop_ns();
    if (!in_flight_.empty() && in_flight_.back().at_ns == at && in_flight_.back().ending == Ending::none) {
      in_flight_.back().bytes.append(bytes.substr(0, size));
    } else {
      in_flight_.push_back({at, std::string(bytes.substr(0, size)), Ending::none});
      schedule();
    }
    in_flight_bytes_ += size;
    return size;
  }

  void end(Ending ending) {
    if (ended_) return;
    ended_ = true;
    in_flight_.push_back({fabric_.scheduler().now_ns() + fabric_.hop_ns(), {}, ending});
    schedule();
  }

  // Reader's side: what is there. Wakes the writer when there is room again.
  std::size_t take(std::span<char> into) {
    const std::size_t size = std::min(into.size(), arrived_.size() - taken_);
    arrived_.copy(into.data(), size, taken_);
    taken_ += size;
    if (taken_ == arrived_.size()) {
      arrived_.clear();
      taken_ = 0;
    } else if (taken_ > kWindowBytes) {
      arrived_.erase(0, taken_);
      taken_ = 0;
    }
    wake(writer);
    return size;
  }
  bool has_bytes() const { return arrived_.size() > taken_; }
  bool anything_unread() const { return has_bytes() || in_flight_bytes_ > 0; }
  bool at_end() const { return fin_arrived_; }
  bool was_reset() const { return reset_; }

  void fire() override {
    const std::int64_t now = fabric_.scheduler().now_ns();
    while (!in_flight_.empty() && in_flight_.front().at_ns <= now) {
      Chunk& chunk = in_flight_.front();
      Trace& trace = fabric_.trace();
      trace.add(static_cast<std::uint64_t>(now));
      trace.add((number_ << 2) | static_cast<std::uint64_t>(chunk.ending));
      if (chunk.ending == Ending::none) {
        trace.add(chunk.bytes);
        in_flight_bytes_ -= chunk.bytes.size();
        if (arrived_.empty()) {
          arrived_.swap(chunk.bytes);
        } else {
          arrived_ += chunk.bytes;
        }
      } else if (chunk.ending == Ending::fin) {
        fin_arrived_ = true;
      } else {
        reset_ = true;
        arrived_.clear();
        taken_ = 0;
      }
      in_flight_.pop_front();
    }
    schedule();
    if (reset_) on_reset();
    wake(reader);
    wake(writer);
  }

  void wake(FiberTask* task) {
    if (task != nullptr) fabric_.scheduler().wake(*task);
  }

  FiberTask* reader = nullptr;  // waiting now
  FiberTask* writer = nullptr;
  bool reader_gone = false;
  Pipe* opposite = nullptr;  // a reset that arrives ends the other direction too

 private:
  struct Chunk {
    std::int64_t at_ns;
    std::string bytes;
    Ending ending;
  };
  void schedule() {
    if (!armed() && !in_flight_.empty()) fabric_.scheduler().timers().arm(*this, in_flight_.front().at_ns);
  }
  void on_reset() {
    if (opposite == nullptr) return;
    opposite->reset_ = true;
    opposite->wake(opposite->writer);
  }

  Fabric& fabric_;
  std::uint64_t number_;
  std::deque<Chunk> in_flight_;
  std::size_t in_flight_bytes_ = 0, taken_ = 0;
  std::string arrived_;
  bool ended_ = false, fin_arrived_ = false, reset_ = false;
};

struct Link2 {
  Link2(Fabric& fabric, std::uint64_t number)
      : forward(fabric, number * 2), backward(fabric, number * 2 + 1) {
    forward.opposite = &backward;
    backward.opposite = &forward;
  }
  Pipe forward, backward;
};

// One end of a connection.
class SimStream final : public Stream {
 public:
  SimStream(Fabric& fabric, ProcessImpl& process, std::shared_ptr<Link2> link, Pipe& in, Pipe& out,
            Endpoint local, Endpoint peer)
      : fabric_(fabric),
        process_(process),
        link_(std::move(link)),
        in_(in),
        out_(out),
        local_(std::move(local)),
        peer_(std::move(peer)),
        number_(fabric.next_stream_++) {
    fabric_.streams_.emplace(number_, this);
  }
  ~SimStream() override {
    close();
    fabric_.streams_.erase(number_);
  }

  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    HF_CHECK(!into.empty(), "read into nothing");
    const std::int64_t deadline_ns = process_.to_world(deadline);
    bool late = false;
    for (;;) {
      if (process_.dead()) {
        fabric_.scheduler().wait(0);  // throws, unless the task unwinds
        return {IoStatus::closed, 0};
      }
      if (closed_) return {IoStatus::closed, 0};
      if (in_.was_reset()) return {IoStatus::reset, 0};
      if (in_.has_bytes()) return {IoStatus::ok, in_.take(into)};
      if (in_.at_end()) return {IoStatus::eof, 0};
      if (late) return {IoStatus::timed_out, 0};
      late = !wait(in_.reader, deadline_ns);
    }
  }

  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    const std::int64_t deadline_ns = process_.to_world(deadline);
    std::size_t sent = 0;
    bool late = false;
    while (sent < bytes.size()) {
      if (process_.dead()) {
        fabric_.scheduler().wait(0);
        return {IoStatus::closed, sent};
      }
      if (closed_) return {IoStatus::closed, sent};
      if (out_.was_reset() || in_.was_reset()) return {IoStatus::reset, sent};
      if (!out_.writable()) return {out_.reader_gone ? IoStatus::reset : IoStatus::closed, sent};
      if (out_.has_room()) {
        sent += out_.send(bytes.substr(sent));
        continue;
      }
      if (late) return {IoStatus::timed_out, sent};
      late = !wait(out_.writer, deadline_ns);
    }
    return {IoStatus::ok, sent};
  }

  void finish_writing() noexcept override {
    if (!closed_ && !process_.dead()) out_.end(Pipe::Ending::fin);
  }
  void close() noexcept override { end(in_.has_bytes() ? Pipe::Ending::reset : Pipe::Ending::fin); }
  void reset() noexcept override { end(Pipe::Ending::reset); }

  Endpoint local() const override { return local_; }
  Endpoint peer() const override { return peer_; }

  const ProcessImpl& process() const { return process_; }
  void process_crashed() { end(in_.anything_unread() ? Pipe::Ending::reset : Pipe::Ending::fin); }

 private:
  bool wait(FiberTask*& place, std::int64_t deadline_ns) {
    FiberTask& self = fabric_.scheduler().current();
    HF_CHECK(place == nullptr, "two tasks read, or two write, the same stream");
    place = &self;
    struct Leave {
      FiberTask*& place;
      ~Leave() { place = nullptr; }
    } leave{place};
    return fabric_.scheduler().wait(deadline_ns);
  }

  void end(Pipe::Ending ending) {
    if (closed_) return;
    closed_ = true;
    out_.end(ending);
    in_.reader_gone = true;
    in_.wake(in_.reader);
    in_.wake(in_.writer);
    out_.wake(out_.writer);
  }

  Fabric& fabric_;
  ProcessImpl& process_;
  std::shared_ptr<Link2> link_;
  Pipe& in_;
  Pipe& out_;
  Endpoint local_, peer_;
  std::uint64_t number_;
  bool closed_ = false;
};

class SimListener final : public Listener {
 public:
  SimListener(Fabric& fabric, ProcessImpl& process, Endpoint endpoint)
      : fabric_(fabric), process_(process), endpoint_(std::move(endpoint)) {
    fabric_.listeners_.emplace(endpoint_, this);
  }
  ~SimListener() override { close(); }

  Connected accept(MonotonicTime deadline) override {
    const std::int64_t deadline_ns = process_.to_world(deadline);
    bool late = false;
    for (;;) {
      if (process_.dead()) {
        fabric_.scheduler().wait(0);
        return {IoStatus::closed, nullptr};
      }
      if (closed_) return {IoStatus::closed, nullptr};
      if (!pending_.empty()) {
        Connected connected{IoStatus::ok, std::move(pending_.front())};
        pending_.pop_front();
        return connected;
      }
      if (late) return {IoStatus::timed_out, nullptr};
      Queued queued(acceptors_, fabric_.scheduler().current());
      late = !fabric_.scheduler().wait(deadline_ns);
    }
  }
  Endpoint endpoint() const override { return endpoint_; }
  void close() noexcept override {
    if (closed_) return;
    closed_ = true;
    fabric_.listeners_.erase(endpoint_);
    for (const auto& stream : pending_) stream->reset();
    pending_.clear();
    while (TaskWaiter* waiter = acceptors_.pop_front()) {
      waiter->granted = true;
      fabric_.scheduler().wake(*waiter->task);
    }
  }

  ProcessImpl& process() const { return process_; }
  bool full() const { return pending_.size() >= kBacklog; }
  void arrive(std::unique_ptr<SimStream> stream) {
    pending_.push_back(std::move(stream));
    if (TaskWaiter* waiter = acceptors_.first()) fabric_.scheduler().wake(*waiter->task);
  }

 private:
  Fabric& fabric_;
  ProcessImpl& process_;
  Endpoint endpoint_;
  std::deque<std::unique_ptr<SimStream>> pending_;  // connected by the "kernel", not yet accepted
  LinkedList<TaskWaiter> acceptors_;
  bool closed_ = false;
};

class SimNetwork final : public Network {
 public:
  SimNetwork(Fabric& fabric, ProcessImpl& process) : fabric_(fabric), process_(process) {}

  Connected connect(const Endpoint& to, MonotonicTime deadline) override {
    const std::int64_t deadline_ns = process_.to_world(deadline);
    // There and back again; the far end decides when the first half has passed.
    if (!travel(deadline_ns)) return {IoStatus::timed_out, nullptr};
    const auto found = fabric_.listeners_.find(to);
    const bool refused = found == fabric_.listeners_.end() || found->second->full();
    std::unique_ptr<SimStream> mine;
    if (!refused) {
      SimListener& listener = *found->second;
      const Endpoint from{process_.address(), next_port()};
      auto link = std::make_shared<Link2>(fabric_, fabric_.next_stream_);
      mine = std::make_unique<SimStream>(fabric_, process_, link, link->backward, link->forward, from, to);
      listener.arrive(std::make_unique<SimStream>(fabric_, listener.process(), link, link->forward,
                                                  link->backward, to, from));
    }
    if (!travel(deadline_ns)) return {IoStatus::timed_out, nullptr};
    if (refused) return {IoStatus::refused, nullptr};
    return {IoStatus::ok, std::move(mine)};
  }

  std::unique_ptr<Listener> listen(const Endpoint& at) override {
    if (process_.dead()) throw TaskCancelled();
    Endpoint endpoint = at;
    if (endpoint.host.empty()) endpoint.host = process_.address();
    while (endpoint.port == 0 || (at.port == 0 && fabric_.listeners_.contains(endpoint)))
      endpoint.port = next_port();
    if (fabric_.listeners_.contains(endpoint)) {
      throw std::system_error(EADDRINUSE, std::generic_category(),
                              "cannot listen at " + endpoint.to_string());
    }
    return std::make_unique<SimListener>(fabric_, process_, endpoint);
  }

 private:
  // One hop's time. False: the deadline came first.
  bool travel(std::int64_t deadline_ns) {
    const std::int64_t arrival = fabric_.scheduler().now_ns() + fabric_.hop_ns();
    const std::int64_t until = std::min(arrival, deadline_ns);
    while (fabric_.scheduler().wait(until)) {
    }
    return arrival <= deadline_ns;
  }
  std::uint16_t next_port() {
    std::uint16_t& port = fabric_.next_port_.try_emplace(process_.address(), kFirstPort).first->second;
    if (++port < kFirstPort) port = kFirstPort;  // wrapped round
    return port;
  }

  Fabric& fabric_;
  ProcessImpl& process_;
};

std::unique_ptr<Network> Fabric::network_of(ProcessImpl& process) {
  return std::make_unique<SimNetwork>(*this, process);
}

void Fabric::crashed(ProcessImpl& process) {
  for (const auto& [number, stream] : streams_) {
    if (&stream->process() == &process) stream->process_crashed();
  }
  std::vector<SimListener*> doors;
  for (const auto& [endpoint, listener] : listeners_) {
    if (&listener->process() == &process) doors.push_back(listener);
  }
  for (SimListener* listener : doors) listener->close();
}

}  // namespace holdfast::sim
