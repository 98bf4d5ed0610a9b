// Recording: looks at a run while it goes and writes down what is seen: keys as each server has them,
// messages under way, servers that come, go and change their role, and each draw.
//
// It is told by the keyspaces, the proxy and the decisions. At each such moment it also looks at the servers:
// whether they run, and as what. Once it has as many steps as it may have, it writes nothing more.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/history.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/passage.h"
#include "sim/replay/record_run.h"
#include "sim/scenario/run_observer.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Recording final : public RunObserver, public PassageWatcher {
 public:
  explicit Recording(const ReplayOptions& options);
  ~Recording() override;

  void begins(World& world, Proxy& proxy, Cluster& cluster) override;
  embedded::KeyspaceWitness* witness(const std::string& node, embedded::KeyspaceWitness* also) override;
  void records(Recorder& recorder) override;
  void ends() override { over_ = true; }
  void came(const Passage& passage) override;
  void went(std::uint64_t number, Fate fate) override;
  // What a decision comes to: what the seed gives, or what is fixed.
  std::uint64_t draws(const std::string& stream, std::uint64_t number, const Drawn& drawn);

  // What was seen, and the events of `history`, in the order in which they happened. Once, after the run.
  Replay finish(const checker::History& history);

 private:
  class NodeWitness;
  // A step, and how many events the history had before it.
  struct Seen {
    Replay::Step step;
    std::size_t events;
  };

  std::optional<std::size_t> change_of_role(const checker::History& history, const checker::Event& event,
                                            std::size_t from) const;
  bool full();
  void add(Replay::Kind kind, std::size_t at);
  void look_at_servers();
  // Of whom a piece of a record or of a command tells: "c1-7", or a client; "" nobody.
  std::string owner(std::string_view text) const;
  std::int64_t now_ns() const { return world_ == nullptr ? 0 : world_->now_ns(); }

  const ReplayOptions options_;
  World* world_ = nullptr;
  Recorder* recorder_ = nullptr;
  bool over_ = false;
  std::vector<std::unique_ptr<NodeWitness>> witnesses_;  // of the nodes, in their order
  std::vector<Replay::Server> standings_;                // as told last
  std::map<std::uint64_t, std::size_t> under_way_;       // passage -> message
  std::vector<Seen> seen_;
  Replay replay_;
};

}  // namespace holdfast::sim
