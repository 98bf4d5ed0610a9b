// Faults of processes against servers that only write down what they are told to do.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/fault/fault.h"
#include "sim/fault/testing/acting.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim::testing {

using Strings = std::vector<std::string>;

// Writes down what it is told to do.
class FakeNode final : public ClusterNode {
 public:
  FakeNode(std::string name, Strings& log) : name_(std::move(name)), log_(log) {}
  const std::string& name() const override { return name_; }
  Endpoint endpoint() const override { return {}; }
  bool running() const override { return running_; }
  std::uint64_t incarnation() const override { return incarnation_; }
  void crash() override {
    running_ = false;
    log_.push_back("crash");
  }
  void lose_power() override {
    running_ = false;
    log_.push_back("lose power");
  }
  void restart(bool keep_disk) override {
    running_ = true;
    ++incarnation_;
    log_.push_back(keep_disk ? "restart" : "restart empty");
  }
  void restart_loading(bool keep_disk) override {
    running_ = true;
    ++incarnation_;
    log_.push_back(keep_disk ? "load" : "load nothing");
  }
  void finish_loading() override { log_.push_back("loaded"); }
  void promote() override { log_.push_back("promote"); }
  void pause() override { log_.push_back("pause"); }
  void resume() override { log_.push_back("resume"); }
  void set_drift(std::int64_t ppm) override {
    drift_ = ppm;
    log_.push_back("drift " + std::to_string(ppm));
  }
  std::int64_t drift() const override { return drift_; }
  std::string administer(std::span<const std::string> command) override {
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    log_.push_back(line);
    return "";
  }
  void step_clock(Duration by) override {
    log_.push_back("step " + std::to_string(by / std::chrono::milliseconds(1)));
  }

 private:
  std::string name_;
  Strings& log_;
  bool running_ = true;
  std::int64_t drift_ = 0;
  std::uint64_t incarnation_ = 1;
};

class FakeCluster final : public Cluster {
 public:
  FakeCluster() { nodes_.push_back(std::make_unique<FakeNode>("r1", log)); }
  void start() override {}
  const std::vector<std::unique_ptr<ClusterNode>>& nodes() const override { return nodes_; }
  const std::vector<std::unique_ptr<ClusterNode>>& sentinels() const override { return sentinels_; }
  void demote(const std::string& node, const std::string& primary) override {
    log.push_back("demote " + node + " " + primary);
  }
  void handed_over(const std::string&, const std::string&) override {}
  Strings log;

 private:
  std::vector<std::unique_ptr<ClusterNode>> nodes_, sentinels_;
};

struct Bench {
  explicit Bench(Rig& rig_)
      : rig(rig_),
        rng(rig.world.rng("fault/test")),
        targets{.world = rig.world,
                .cluster = cluster,
                .proxy = rig.proxy,
                .client = [this](std::string_view name) { return name == "c1" ? &rig.client : nullptr; },
                .rng = rng,
                .crash_client =
                    [this](std::string_view name) { cluster.log.push_back("crash " + std::string(name)); },
                .restart_client =
                    [this](std::string_view name) { cluster.log.push_back("restart " + std::string(name)); },
                .tell =
                    [this](const FaultEffect& effect) {
                      told.push_back(std::string(checker::to_string(effect.what)) + " " + effect.party);
                    }} {}

  std::unique_ptr<Acting> make(std::string_view kind, SettingValues values) {
    return std::make_unique<Acting>(kind, std::move(values));
  }

  Rig& rig;
  FakeCluster cluster;
  Rng rng;
  FaultTargets targets;
  Strings told;  // effects, in order
};

}  // namespace holdfast::sim::testing
