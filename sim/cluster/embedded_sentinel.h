// A Sentinel as a node of the embedded cluster: a process that runs SentinelServer, behind a door in the
// proxy that it announces as its address. What it remembers belongs to the node and survives the process.
#pragma once

#include <memory>
#include <string>

#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/redis/sentinel/options.h"
#include "sim/redis/sentinel/server.h"

namespace holdfast::sim {

class EmbeddedSentinel final : public ClusterNode {
 public:
  EmbeddedSentinel(World& world, Proxy& proxy, std::string name, const ClusterOptions& options);

  void open_door() { door_ = proxy_.expose(name_, upstream()); }
  void watches(Endpoint primary) { primary_ = std::move(primary); }
  void start();  // [parks]
  Endpoint upstream() const override;

  const std::string& name() const override { return name_; }
  Endpoint endpoint() const override { return door_; }
  bool running() const override;
  std::uint64_t incarnation() const override { return incarnation_; }
  void crash() override;
  void lose_power() override;
  void restart(bool keep_disk) override;
  void restart_loading(bool keep_disk) override { restart(keep_disk); }
  void finish_loading() override {}
  void promote() override;
  void pause() override { process_->pause(); }
  void resume() override { process_->resume(); }
  void step_clock(Duration by) override { process_->step_wall(by); }
  void set_drift(std::int64_t ppm) override { process_->set_drift(ppm); }
  std::int64_t drift() const override { return process_->drift(); }
  std::string administer(std::span<const std::string> command) override;

 private:
  World& world_;
  Proxy& proxy_;
  const std::string name_;
  const SentinelSettings settings_;
  Process* process_;
  std::shared_ptr<embedded::SentinelMemory> memory_;
  std::shared_ptr<bool> serves_;  // of this incarnation
  Endpoint door_, primary_;
  std::uint64_t incarnation_ = 0;
};

}  // namespace holdfast::sim
