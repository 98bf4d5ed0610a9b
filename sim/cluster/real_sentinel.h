// A Sentinel as a node of the real cluster: `redis-server --sentinel` with a file of its own, which it
// rewrites, behind a door in the proxy that it announces as its address.
#pragma once

#include <map>
#include <string>

#include "sim/cluster/clocked_redis.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {

class RealSentinel final : public ClusterNode {
 public:
  RealSentinel(World& world, Proxy& proxy, std::string name, const ClusterOptions& options);

  void open_door() { door_ = proxy_.expose(name_, process_.endpoint()); }
  void watches(Endpoint primary) { primary_ = std::move(primary); }
  void start();                                                   // [parks]
  redis::Reply call(std::initializer_list<std::string> command);  // [parks]
  Endpoint upstream() const { return process_.endpoint(); }

  const std::string& name() const override { return name_; }
  Endpoint endpoint() const override { return door_; }
  bool running() const override { return process_.running(); }
  std::uint64_t incarnation() const override { return incarnation_; }
  void crash() override;
  void lose_power() override;
  void restart(bool keep_disk) override;
  void restart_loading(bool keep_disk) override { restart(keep_disk); }
  void finish_loading() override {}
  void promote() override;
  void pause() override;
  void resume() override;
  void step_clock(Duration by) override { process_.clock().step_wall(by); }
  void set_drift(std::int64_t ppm) override { process_.clock().set_drift(ppm); }
  std::int64_t drift() const override { return process_.clock().drift(); }
  std::string administer(std::span<const std::string> command) override;

 private:
  void write_configuration() const;

  Proxy& proxy_;
  const std::string name_;
  const SentinelSettings settings_;
  const std::string configuration_;
  ClockedRedis process_;
  Endpoint door_, primary_;
  std::uint64_t incarnation_ = 0;
  int pauses_ = 0;
};

}  // namespace holdfast::sim
