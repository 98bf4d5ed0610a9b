#include "sim/world/sim_network.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/runtime/check.h"
#include "sim/world/sim_link.h"
#include "sim/world/sim_listener.h"

namespace holdfast::sim {
namespace {

constexpr std::uint16_t kFirstFreePort = 32768, kLastFreePort = 60999;

[[noreturn]] void cannot_bind(int error, const Endpoint& at) {
  throw std::system_error(error, std::generic_category(), "cannot listen at " + at.to_string());
}

}  // namespace

const std::string& SimNetwork::resolve(const std::string& host) const {
  const bool here = host.empty() || host == "0.0.0.0" || host == "127.0.0.1" || host == "localhost";
  if (here) return host_.address;
  const auto name = fabric_.names.find(host);
  return name == fabric_.names.end() ? host : name->second;
}

std::uint16_t SimNetwork::free_port() {
  for (int tries = 0; tries <= kLastFreePort - kFirstFreePort; ++tries) {
    const std::uint16_t port = host_.next_port;
    host_.next_port = port == kLastFreePort ? kFirstFreePort : static_cast<std::uint16_t>(port + 1);
    if (host_.ports.count(port) == 0 && host_.listeners.count(port) == 0) return port;
  }
  return 0;
}

Connected SimNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  if (!may_act()) return {IoStatus::closed, nullptr};
  const auto host = fabric_.hosts.find(resolve(to.host));
  if (host == fabric_.hosts.end() || to.port == 0) return {IoStatus::unreachable, nullptr};
  const std::uint16_t port = free_port();
  if (port == 0) return {IoStatus::unreachable, nullptr};

  auto* const link = new SimLink(fabric_, ++fabric_.last_link);
  SimEnd& end = link->end(0);
  auto stream = std::make_unique<SimStream>(end);  // owns the link from here on
  SimEnd& far_end = link->end(1);
  end.host = &host_;
  end.port = port;
  end.connected_from_here = true;
  host_.ports.insert(port);
  far_end.host = &host->second;
  far_end.port = to.port;
  link->open(end, *this);

  const IoStatus status = link->connect(end, deadline);
  if (status != IoStatus::ok) {
    if (status == IoStatus::timed_out) stream->reset();
    return {status, nullptr};
  }
  return {IoStatus::ok, std::move(stream)};
}

std::unique_ptr<Listener> SimNetwork::listen(const Endpoint& at) {
  fabric_.scheduler.cancelled();
  if (group_.dead) cannot_bind(ENETDOWN, at);
  const std::string& address = resolve(at.host);
  const bool named = address == at.host && address != host_.address && fabric_.hosts.count(address) == 0;
  if (!named && address != host_.address) cannot_bind(EADDRNOTAVAIL, at);
  const std::uint16_t port = at.port != 0 ? at.port : free_port();
  if (port == 0 || host_.listeners.count(port) != 0) cannot_bind(EADDRINUSE, at);
  if (named) fabric_.names.emplace(at.host, host_.address);
  const bool by_name = fabric_.names.count(at.host) != 0;
  return std::make_unique<SimListener>(*this, Endpoint{by_name ? at.host : host_.address, port});
}

void SimNetwork::break_off() noexcept {
  for (auto it = host_.listeners.begin(); it != host_.listeners.end();) {
    SimListener* const listener = it->second;
    ++it;
    listener->close();
  }
  while (first_end_ != nullptr) first_end_->link->close(*first_end_);
}

SimListener::SimListener(SimNetwork& network, Endpoint endpoint)
    : state_(std::make_shared<State>(State{&network})),
      host_(network.host()),
      endpoint_(std::move(endpoint)) {
  host_.listeners.emplace(endpoint_.port, this);
}

Connected SimListener::accept(MonotonicTime deadline) {
  const std::shared_ptr<State> state = state_;
  for (;;) {
    if (state->network == nullptr) return {IoStatus::closed, nullptr};
    Scheduler& scheduler = state->network->fabric().scheduler;
    if (scheduler.cancelled()) return {IoStatus::closed, nullptr};
    if (!state->backlog.empty()) {
      SimEnd* const end = state->backlog.front();
      state->backlog.pop_front();
      auto stream = std::make_unique<SimStream>(*end);
      end->link->release();  // the backlog's reference
      return {IoStatus::ok, std::move(stream)};
    }
    HF_CHECK(state->acceptor == nullptr, "two tasks accept at the same listener");
    state->acceptor = &scheduler.current();
    const bool in_time = scheduler.suspend("a connection to accept", state->network->group().clock, deadline);
    state->acceptor = nullptr;
    if (scheduler.cancelled()) return {IoStatus::closed, nullptr};
    if (!in_time && state->backlog.empty() && state->network != nullptr)
      return {IoStatus::timed_out, nullptr};
  }
}

void SimListener::close() noexcept {
  SimNetwork* const network = std::exchange(state_->network, nullptr);
  if (network == nullptr) return;
  host_.listeners.erase(endpoint_.port);
  if (state_->acceptor != nullptr) network->fabric().scheduler.wake(*state_->acceptor);
  for (SimEnd* end : state_->backlog) {
    end->link->abort(*end);
    end->link->release();
  }
  state_->backlog.clear();
}

bool SimListener::offer(SimEnd& end) {
  if (state_->backlog.size() >= kSimBacklog) return false;
  end.link->open(end, *state_->network);
  end.link->retain();
  state_->backlog.push_back(&end);
  if (state_->acceptor != nullptr) state_->network->fabric().scheduler.wake(*state_->acceptor);
  return true;
}

}  // namespace holdfast::sim
