// ServerNode: a node whose server is a child process of ours, whatever it speaks. An engine says how its
// disk is made, what is started, and when it answers; the rest (doors, crash, restart, pause, log) is here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/testing/server/child_process.h"
#include "lib/testing/server/processes.h"
#include "lib/testing/server/redis_process.h"
#include "sim/cluster/cluster.h"
#include "sim/comparators/process_tree.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {

class ServerNode : public ClusterNode {
 public:
  // `folder` exists; the server's files and its log are below it. Binds to the address of the world's process
  // `name`, which is made here.
  // `end_signal`: at which it ends at once with all its processes, when the run is over.
  ServerNode(World& world, Proxy& proxy, std::string name, const std::string& folder, int end_signal);
  ~ServerNode() override;

  const std::string& name() const override { return name_; }
  Endpoint endpoint() const override { return door_; }
  Endpoint upstream() const override { return {address_, port_}; }
  double cpu_seconds() const override { return cpu_seconds_of(pid()); }
  bool running() const override { return child_ && child_->running(); }
  std::uint64_t incarnation() const override { return incarnation_; }
  bool ended_by_itself() const override { return child_ && !child_->running(); }

  void crash() override;
  void restart(bool keep_disk) override;
  void pause() override;
  void resume() override;

  // Not of these servers: files that ask for it are refused (FaultKind::any_engine).
  void lose_power() override { throw cannot_do("lose its power"); }
  void restart_loading(bool) override { throw cannot_do("load for long"); }
  void finish_loading() override {}
  void promote() override { throw cannot_do("be promoted"); }
  void step_clock(Duration) override { throw cannot_do("have its clock stepped"); }
  void set_drift(std::int64_t) override { throw cannot_do("have its clock drift"); }
  std::int64_t drift() const override { return 0; }
  std::string administer(std::span<const std::string>) override { throw cannot_do("be sent a command"); }

  void open_door() { door_ = proxy_.expose(name_, upstream()); }
  // [parks] Returns when it answers, or was killed meanwhile. Throws std::runtime_error with the end of its
  // log.
  void start();

 protected:
  // What the engine says.
  virtual void make_disk() = 0;        // [parks] Makes its data from nothing; what was there is gone
  virtual ChildOptions command() = 0;  // without `output`
  virtual bool answers() = 0;          // [parks] It serves. May throw std::runtime_error: not yet
  virtual void answered() {}           // [parks] It does, for the first time since it was started

  World& world() { return world_; }
  Proxy& proxy() { return proxy_; }
  Runtime& runtime() { return world_.harness().runtime(); }
  int pid() const { return child_ ? child_->pid() : -1; }
  const std::string& folder() const { return folder_; }
  const std::string& address() const { return address_; }
  std::runtime_error cannot_do(const std::string& what) const {
    return std::runtime_error("node " + name_ + " cannot " + what);
  }
  std::string log_tail() const;

 private:
  World& world_;
  Proxy& proxy_;
  const std::string name_, folder_, address_, log_;
  const int end_signal_;
  std::uint16_t port_;
  Endpoint door_;
  std::unique_ptr<ChildProcess> child_;
  ProcessTree tree_;
  bool has_disk_ = false;
  std::uint64_t incarnation_ = 0;
  int pauses_ = 0;  // of this incarnation
};

}  // namespace holdfast::sim
