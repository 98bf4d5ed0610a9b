#include "sim/cluster/real_sentinel.h"

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::sim {
namespace {

std::string in_ms(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

RealSentinel::RealSentinel(World& world, Proxy& proxy, std::string name, const ClusterOptions& options)
    : proxy_(proxy),
      name_(std::move(name)),
      settings_(options.sentinels),
      configuration_(options.folder + "/" + name_ + "/sentinel.conf"),
      process_(world.harness().runtime(), world.harness().network(),
               {.folder = options.folder + "/" + name_,
                .address = world.add_process(name_).address(),
                .configuration = configuration_,
                .settings = {"--sentinel"}}) {}

void RealSentinel::write_configuration() const {
  std::ofstream file(configuration_, std::ios::trunc);
  const std::string primary(kPrimaryName);
  file << "sentinel monitor " << primary << ' ' << primary_.host << ' ' << primary_.port << ' '
       << settings_.quorum << '\n'
       << "sentinel down-after-milliseconds " << primary << ' ' << in_ms(settings_.down_after) << '\n'
       << "sentinel failover-timeout " << primary << ' ' << in_ms(settings_.failover_timeout) << '\n'
       << "sentinel parallel-syncs " << primary << ' ' << settings_.parallel_syncs << '\n'
       << "sentinel announce-ip " << door_.host << '\n'
       << "sentinel announce-port " << door_.port << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + configuration_);
}

void RealSentinel::start() {
  if (incarnation_++ == 0) write_configuration();
  pauses_ = 0;
  try {
    process_.start();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("sentinel " + name_ + ": " + error.what());
  }
  if (!process_.running()) return;
  if (settings_.quick) {
    call({"SENTINEL", "DEBUG", "INFO-PERIOD", "300", "PING-PERIOD", "300", "ASK-PERIOD", "50",
          "PUBLISH-PERIOD", "500", "ELECTION-TIMEOUT", "500"});
  }
  proxy_.set_node(name_, NodeState::up);
}

redis::Reply RealSentinel::call(std::initializer_list<std::string> command) {
  try {
    return process_.call(command);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("sentinel " + name_ + " does not answer: " + error.what());
  }
}

void RealSentinel::crash() {
  if (process_.running()) proxy_.set_node(name_, NodeState::down);
  process_.kill();
}

// It syncs its file whenever it writes it: nothing of that is lost.
void RealSentinel::lose_power() {
  proxy_.set_node(name_, NodeState::off);
  process_.kill();
}

void RealSentinel::restart(bool keep_disk) {
  if (process_.running()) throw std::runtime_error("sentinel " + name_ + " cannot be restarted: it runs");
  proxy_.set_node(name_, NodeState::down);
  if (!keep_disk) write_configuration();
  start();
}

void RealSentinel::promote() {
  throw std::runtime_error("node " + name_ + " cannot be promoted: it is a Sentinel");
}

void RealSentinel::pause() {
  if (pauses_++ == 0) process_.pause();
}

void RealSentinel::resume() {
  if (pauses_ > 0 && --pauses_ == 0) process_.resume();
}

std::string RealSentinel::administer(std::span<const std::string> command) {
  const redis::Reply reply = process_.call(command);
  if (reply.is_error()) throw NodeRefuses("sentinel " + name_ + " refuses " + command.front(), reply.text);
  return reply.text;
}

}  // namespace holdfast::sim
