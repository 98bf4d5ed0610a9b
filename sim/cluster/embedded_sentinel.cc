#include "sim/cluster/embedded_sentinel.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "lib/testing/server/server_connection.h"

namespace holdfast::sim {
namespace {

constexpr std::uint16_t kPort = 26379;

std::int64_t in_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

EmbeddedSentinel::EmbeddedSentinel(World& world, Proxy& proxy, std::string name,
                                   const ClusterOptions& options)
    : world_(world),
      proxy_(proxy),
      name_(std::move(name)),
      settings_(options.sentinels),
      process_(&world.add_process(name_)),
      memory_(std::make_shared<embedded::SentinelMemory>()) {}

Endpoint EmbeddedSentinel::upstream() const { return {process_->address(), kPort}; }

bool EmbeddedSentinel::running() const { return process_->alive() && serves_ != nullptr && *serves_; }

void EmbeddedSentinel::start() {
  ++incarnation_;
  embedded::SentinelOptions options;
  options.listen = upstream();
  options.announced = door_;
  options.primary_name = kPrimaryName;
  options.primary = primary_;
  options.quorum = settings_.quorum;
  options.down_after_ms = in_ms(settings_.down_after);
  options.failover_timeout_ms = in_ms(settings_.failover_timeout);
  options.parallel_syncs = settings_.parallel_syncs;
  if (settings_.quick)
    options.periods = {.info = 300, .ping = 300, .ask = 50, .publish = 500, .election = 500};
  serves_ = std::make_shared<bool>(false);
  Process& process = *process_;
  const std::shared_ptr<bool> serves = serves_;
  process.start("sentinel", [&process, options, memory = memory_, serves]() mutable {
    options.memory = memory.get();
    SentinelServer server(process.runtime(), process.network(), options);
    *serves = true;
    const auto gone = [&] { *serves = false; };
    try {
      server.serve();
    } catch (...) {
      gone();
      throw;
    }
    gone();
  });
  Runtime& harness = world_.harness().runtime();
  while (!*serves && process.alive()) harness.sleep_for(std::chrono::microseconds(100));
  if (*serves && &process == process_) proxy_.set_node(name_, NodeState::up);
}

void EmbeddedSentinel::crash() {
  if (running()) proxy_.set_node(name_, NodeState::down);
  if (process_->alive()) process_->crash();
  serves_.reset();
}

// It syncs what it remembers whenever it writes it: nothing of that is lost.
void EmbeddedSentinel::lose_power() {
  proxy_.set_node(name_, NodeState::off);
  if (process_->alive()) process_->crash();
  serves_.reset();
}

void EmbeddedSentinel::restart(bool keep_disk) {
  if (running()) throw std::runtime_error("sentinel " + name_ + " cannot be restarted: it runs");
  if (process_->alive()) process_->crash();
  proxy_.set_node(name_, NodeState::down);
  auto memory = std::make_shared<embedded::SentinelMemory>();
  if (keep_disk) *memory = *memory_;
  memory_ = std::move(memory);
  process_ = &world_.add_process(name_);
  start();
}

void EmbeddedSentinel::promote() {
  throw std::runtime_error("node " + name_ + " cannot be promoted: it is a Sentinel");
}

std::string EmbeddedSentinel::administer(std::span<const std::string> command) {
  Process& harness = world_.harness();
  const MonotonicTime deadline = deadline_after(harness.runtime().now(), std::chrono::seconds(30));
  ServerConnection connection(harness.network(), upstream(), deadline);
  const redis::Reply reply = connection.call(command, deadline);
  if (reply.is_error()) throw NodeRefuses("sentinel " + name_ + " refuses " + command.front(), reply.text);
  return reply.text;
}

}  // namespace holdfast::sim
