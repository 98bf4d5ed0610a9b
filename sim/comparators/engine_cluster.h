// EngineCluster: nodes of one engine, for engines whose servers need nothing of the cluster but to be
// started.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/testing/server/temporary_folder.h"
#include "sim/comparators/server_node.h"

namespace holdfast::sim {

class EngineCluster : public Cluster {
 public:
  const std::vector<std::unique_ptr<ClusterNode>>& nodes() const override { return nodes_; }
  const std::vector<std::unique_ptr<ClusterNode>>& sentinels() const override { return none_; }
  void demote(const std::string& node, const std::string&) override {
    throw std::runtime_error("node " + node + " cannot be demoted");
  }
  void handed_over(const std::string& node, const std::string&) override { demote(node, ""); }

 protected:
  ServerNode& node(std::size_t number) { return static_cast<ServerNode&>(*nodes_[number]); }
  void add(std::unique_ptr<ServerNode> node) { nodes_.push_back(std::move(node)); }
  // Of this run, outside the run's own: servers may run as another user.
  const std::string& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<ClusterNode>> nodes_, none_;
};

}  // namespace holdfast::sim
