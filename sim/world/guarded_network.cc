#include "sim/world/guarded_network.h"

#include <cerrno>
#include <system_error>

namespace holdfast::sim {

class GuardedStream final : public Stream {
 public:
  GuardedStream(GuardedNetwork& network, std::unique_ptr<Stream> inner)
      : network_(network), inner_(std::move(inner)), number_(network.next_++) {
    network_.streams_.emplace(number_, inner_.get());
  }
  ~GuardedStream() override { network_.streams_.erase(number_); }
  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    if (!network_.may_act()) return {IoStatus::closed, 0};
    return inner_->read(into, deadline);
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    if (!network_.may_act()) return {IoStatus::closed, 0};
    return inner_->write(bytes, deadline);
  }
  void finish_writing() noexcept override { inner_->finish_writing(); }
  void close() noexcept override { inner_->close(); }
  void reset() noexcept override { inner_->reset(); }
  Endpoint local() const override { return inner_->local(); }
  Endpoint peer() const override { return inner_->peer(); }

 private:
  GuardedNetwork& network_;
  std::unique_ptr<Stream> inner_;
  std::uint64_t number_;
};

class GuardedListener final : public Listener {
 public:
  GuardedListener(GuardedNetwork& network, std::unique_ptr<Listener> inner)
      : network_(network), inner_(std::move(inner)), number_(network.next_++) {
    network_.listeners_.emplace(number_, inner_.get());
  }
  ~GuardedListener() override { network_.listeners_.erase(number_); }
  Connected accept(MonotonicTime deadline) override {
    if (!network_.may_act()) return {IoStatus::closed, nullptr};
    return network_.guard(inner_->accept(deadline));
  }
  Endpoint endpoint() const override { return inner_->endpoint(); }
  void close() noexcept override { inner_->close(); }

 private:
  GuardedNetwork& network_;
  std::unique_ptr<Listener> inner_;
  std::uint64_t number_;
};

GuardedNetwork::GuardedNetwork(Scheduler& scheduler, FiberProcess& process)
    : scheduler_(scheduler),
      group_(process.group()),
      sockets_(process.runtime(), {.source_address = process.address()}) {}

Connected GuardedNetwork::guard(Connected connected) {
  if (connected.stream != nullptr) {
    connected.stream = std::make_unique<GuardedStream>(*this, std::move(connected.stream));
    if (group_.dead) connected.stream->close();  // made while the process was killed
  }
  return connected;
}

Connected GuardedNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  if (!may_act()) return {IoStatus::closed, nullptr};
  return guard(sockets_.connect(to, deadline));
}

std::unique_ptr<Listener> GuardedNetwork::listen(const Endpoint& at) {
  if (!may_act()) {
    throw std::system_error(ENETDOWN, std::generic_category(), "cannot listen at " + at.to_string());
  }
  return std::make_unique<GuardedListener>(*this, sockets_.listen(at));
}

void GuardedNetwork::break_off() noexcept {
  for (const auto& [number, stream] : streams_) stream->close();
  for (const auto& [number, listener] : listeners_) listener->close();
}

}  // namespace holdfast::sim
