// The cluster of embedded servers: every node is a process of the simulated world that runs RedisServer at
// its own address. Its disk belongs to the node and survives the process. Clients come through its door in
// the proxy, a replica reaches its primary through a replication door; the harness' own commands go past the
// proxy.
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "lib/testing/server/server_connection.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/embedded_sentinel.h"
#include "sim/cluster/sentinel_watch.h"
#include "sim/proxy/proxy.h"
#include "sim/redis/replication.h"
#include "sim/redis/resp.h"
#include "sim/redis/server.h"

namespace holdfast::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint16_t kPort = 6379, kBusPort = 16379;

embedded::PersistenceMode mode_of(Persistence persistence) {
  switch (persistence) {
    case Persistence::none: return embedded::PersistenceMode::none;
    case Persistence::rdb: return embedded::PersistenceMode::rdb;
    case Persistence::aof_always: return embedded::PersistenceMode::aof_always;
    case Persistence::aof_everysec: return embedded::PersistenceMode::aof_everysec;
    case Persistence::aof_no: return embedded::PersistenceMode::aof_no;
  }
  return embedded::PersistenceMode::none;
}

// What a node's process and the harness know of its server. Shared, because either may outlive the other.
struct Presence {
  RedisServer* server = nullptr;  // while it serves
  bool ended = false;             // by itself
};
// Its file of settings, where Sentinels rewrite it: whom it follows when it starts.
struct Configuration {
  Endpoint primary;  // host "": nobody
};

class EmbeddedNode final : public ClusterNode {
 public:
  EmbeddedNode(World& world, Proxy& proxy, std::string name, const ClusterOptions& options)
      : world_(world),
        proxy_(proxy),
        name_(std::move(name)),
        options_(options),
        process_(&world.add_process(name_)),
        disk_(std::make_shared<embedded::Disk>()),
        configuration_(options.topology == Topology::sentinel ? std::make_shared<Configuration>() : nullptr),
        memory_(options.topology == Topology::cluster ? std::make_shared<embedded::ClusterMemory>()
                                                      : nullptr) {}

  const std::string& name() const override { return name_; }
  Endpoint endpoint() const override { return door_; }
  bool running() const override { return process_->alive() && presence_ != nullptr && !presence_->ended; }
  std::uint64_t incarnation() const override { return incarnation_; }

  void crash() override {
    if (running()) proxy_.set_node(name_, NodeState::down);
    kill();
  }

  void lose_power() override {
    proxy_.set_node(name_, NodeState::off);
    kill();
    disk_->lose_power(process_->runtime().now());
  }

  void restart(bool keep_disk) override { restart(keep_disk, false); }
  void restart_loading(bool keep_disk) override { restart(keep_disk, true); }
  void finish_loading() override {
    if (in_force("loading") == 0 || presence_ == nullptr || presence_->server == nullptr) return;
    in_force("loading") = 0;
    presence_->server->finish_loading();
  }
  void restart(bool keep_disk, bool loads) {
    if (running()) throw std::runtime_error("node " + name_ + " cannot be restarted: it runs");
    if (process_->alive()) process_->crash();
    proxy_.set_node(name_, NodeState::down);
    // A new disk, not a wiped one: the old process may still be unwinding.
    auto disk = std::make_shared<embedded::Disk>();
    if (keep_disk) *disk = *disk_;
    disk_ = std::move(disk);
    process_ = &world_.add_process(name_);
    start(loads);
  }

  void promote() override {
    if (memory_) throw std::runtime_error("node " + name_ + " cannot be promoted: a Cluster elects");
    if (!running()) throw std::runtime_error("node " + name_ + " cannot be promoted: it does not run");
    const std::string answer = command("*3\r\n$9\r\nREPLICAOF\r\n$2\r\nNO\r\n$3\r\nONE\r\n");
    if (!answer.starts_with("+OK")) throw NodeRefuses("node " + name_ + " cannot be promoted", error(answer));
    primary_.reset();
  }

  // [parks]
  void demote(const Endpoint& primary) {
    if (memory_) throw std::runtime_error("node " + name_ + " cannot be demoted: a Cluster elects");
    if (!running()) throw std::runtime_error("node " + name_ + " cannot be demoted: it does not run");
    const std::string port = std::to_string(primary.port);
    const std::string_view words[] = {"REPLICAOF", primary.host, port};
    std::string request;
    embedded::append_request(request, words);
    const std::string answer = command(request);
    if (!answer.starts_with("+OK")) throw NodeRefuses("node " + name_ + " cannot be demoted", error(answer));
    primary_ = primary;
  }

  std::string administer(std::span<const std::string> words) override {
    if (!running()) throw std::runtime_error("node " + name_ + " does not run");
    const redis::Reply reply = call(words);
    if (reply.is_error()) throw NodeRefuses("node " + name_ + " refuses " + words.front(), reply.text);
    return reply.type == redis::Reply::Type::integer ? std::to_string(reply.integer) : reply.text;
  }

  void shut_down(std::span<const std::string> words) override {
    if (!running()) throw std::runtime_error("node " + name_ + " does not run");
    std::vector<std::string> command = {"SHUTDOWN"};
    command.insert(command.end(), words.begin(), words.end());
    const std::shared_ptr<Presence> mine = presence_;
    try {
      const redis::Reply reply = call(command);
      if (reply.is_error()) throw NodeRefuses("node " + name_ + " refuses SHUTDOWN", reply.text);
    } catch (const NodeRefuses&) {
      throw;
    } catch (const std::runtime_error&) {  // it ends without an answer, when its replicas have everything
    }
    while (!mine->ended) world_.harness().runtime().sleep_for(microseconds(100));
    if (mine != presence_) return;
    proxy_.set_node(name_, NodeState::down);
    kill();
  }

  void fill_disk(bool full) override { disk_->full = full; }
  bool ended_by_itself() const override {
    return process_->alive() && presence_ != nullptr && presence_->ended;
  }
  void slow_disk(Duration by) override {
    const bool quicker = by < std::exchange(disk_->sync_delay, by);
    if (quicker && presence_ != nullptr && presence_->server != nullptr) presence_->server->disk_is_quicker();
  }
  Duration disk_delay() const override { return disk_->sync_delay; }

  void pause() override { process_->pause(); }
  void resume() override { process_->resume(); }
  void step_clock(Duration by) override { process_->step_wall(by); }
  void set_drift(std::int64_t ppm) override { process_->set_drift(ppm); }
  std::int64_t drift() const override { return process_->drift(); }

  Endpoint upstream() const override { return {process_->address(), kPort}; }
  void open_door() {
    door_ = proxy_.expose(name_, upstream());
    if (memory_) bus_door_ = proxy_.expose_bus(name_, {process_->address(), kBusPort});
  }
  std::uint16_t bus_port() const { return bus_door_.port; }
  // Its file of the cluster. It is kept when the disk is lost, as in the real world.
  embedded::ClusterMemory& memory() { return *memory_; }
  std::function<void(bool primary)> on_role_changed;
  void follow(Endpoint primary) {
    if (configuration_) configuration_->primary = primary;
    primary_ = std::move(primary);
  }
  void lead() {
    if (configuration_) configuration_->primary = {};
    primary_.reset();
  }
  bool in_sync() const {
    return presence_ != nullptr && presence_->server != nullptr && presence_->server->ready();
  }

  // [parks] until it listens. `loads`: until finish_loading().
  void start(bool loads = false) {
    ++incarnation_;
    presence_ = std::make_shared<Presence>();
    RedisServerOptions options;
    options.listen = upstream();
    options.persistence = mode_of(options_.persistence);
    options.loads = loads;
    if (loads) in_force("loading") = 1;
    if (options_.min_replicas_to_write > 0) {
      options.settings = {{"min-replicas-to-write", std::to_string(options_.min_replicas_to_write)},
                          {"min-replicas-max-lag", std::to_string(options_.min_replicas_max_lag.count())}};
    }
    options.settings.insert(options.settings.end(), options_.settings.begin(), options_.settings.end());
    options.announced_port = door_.port;
    options.announced_host = door_.host;
    if (configuration_) {
      options.on_config_rewrite = [file = configuration_](const Endpoint& primary) {
        file->primary = primary;
      };
      primary_.reset();
      if (!configuration_->primary.host.empty()) primary_ = configuration_->primary;
    }
    if (memory_) {
      options.announced_host = door_.host;
      embedded::ClusterNodeOptions& cluster = options.cluster.emplace();
      cluster.bus = {process_->address(), kBusPort};
      cluster.node_timeout_ms =
          std::chrono::duration_cast<milliseconds>(options_.election.node_timeout).count();
      cluster.on_role_changed = on_role_changed;
    }
    if (options_.witness) options.witness = options_.witness(name_);
    if (primary_) options.primary = *primary_;
    Process& process = *process_;
    process.start("redis",
                  [&process, options, disk = disk_, memory = memory_, presence = presence_]() mutable {
                    options.disk = disk.get();
                    if (options.cluster) options.cluster->memory = memory.get();
                    // It is gone then as a process is that exits, whatever its tasks wait for.
                    options.on_end = [presence] {
                      presence->server = nullptr;
                      presence->ended = true;
                    };
                    RedisServer server(process.runtime(), process.network(), options);
                    presence->server = &server;
                    server.serve();
                  });
    Runtime& harness = world_.harness().runtime();
    const std::shared_ptr<Presence> mine = presence_;
    while (mine->server == nullptr && process.alive()) harness.sleep_for(microseconds(100));
    if (mine->server != nullptr && &process == process_) proxy_.set_node(name_, NodeState::up);
  }

 private:
  // An error reply without what frames it.
  static std::string error(const std::string& answer) {
    const std::size_t begin = answer.starts_with('-') ? 1 : 0;
    return answer.substr(begin, answer.find('\r') - begin);
  }

  void kill() {
    if (process_->alive()) process_->crash();
    presence_.reset();
  }

  // [parks] One command past the proxy.
  redis::Reply call(std::span<const std::string> words) {
    Process& harness = world_.harness();
    const MonotonicTime deadline = harness.runtime().now() + seconds(30);
    ServerConnection connection(harness.network(), upstream(), deadline);
    return connection.call(words, deadline);
  }

  // [parks] The same in RESP; the first bytes of the answer.
  std::string command(std::string_view request) {
    Network& network = world_.harness().network();
    const MonotonicTime deadline = world_.harness().runtime().now() + seconds(30);
    const Connected connected = network.connect(upstream(), deadline);
    if (connected.status != IoStatus::ok) {
      throw std::runtime_error("node " + name_ + ": " + std::string(to_string(connected.status)));
    }
    std::string answer(256, '\0');
    IoResult io = connected.stream->write(request, deadline);
    if (io.ok()) io = connected.stream->read(answer, deadline);
    if (!io.ok()) throw std::runtime_error("node " + name_ + ": " + std::string(to_string(io.status)));
    answer.resize(io.bytes);
    return answer;
  }

  World& world_;
  Proxy& proxy_;
  std::string name_;
  const ClusterOptions options_;
  Process* process_;
  std::shared_ptr<embedded::Disk> disk_;
  std::shared_ptr<Configuration> configuration_;     // null: it has none
  std::shared_ptr<embedded::ClusterMemory> memory_;  // null: it is no node of a Redis Cluster
  std::shared_ptr<Presence> presence_;
  std::optional<Endpoint> primary_;
  Endpoint door_, bus_door_;
  std::uint64_t incarnation_ = 0;
};

class EmbeddedCluster final : public Cluster {
 public:
  EmbeddedCluster(World& world, Proxy& proxy, const ClusterOptions& options)
      : world_(world), proxy_(proxy), options_(options) {
    for (const std::string& name : options.nodes) {
      nodes_.push_back(std::make_unique<EmbeddedNode>(world, proxy, name, options));
    }
    if (options.topology != Topology::sentinel) return;
    for (const std::string& name : options.sentinels.names)
      sentinels_.push_back(std::make_unique<EmbeddedSentinel>(world, proxy, name, options));
  }

  const std::vector<std::unique_ptr<ClusterNode>>& nodes() const override { return nodes_; }
  const std::vector<std::unique_ptr<ClusterNode>>& sentinels() const override { return sentinels_; }

  void start() override {
    if (options_.topology == Topology::cluster) introduce_all();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (options_.topology != Topology::cluster) {
        node(i).open_door();
        if (starts_as_replica(options_, i))
          node(i).follow(door_between(node(i), node(first_primary_of(options_, i))));
      }
      node(i).start();
    }
    Runtime& harness = world_.harness().runtime();
    const MonotonicTime limit = harness.now() + seconds(60);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      while (!node(i).in_sync()) {
        if (harness.now() >= limit)
          throw std::runtime_error("node " + node(i).name() + " does not come in sync");
        harness.sleep_for(milliseconds(1));
      }
    }
    if (!sentinels_.empty()) start_sentinels();
    if (options_.topology == Topology::cluster) wait_until_well();
  }

  void demote(const std::string& name, const std::string& primary) override {
    auto* const replica = static_cast<EmbeddedNode*>(find(name));
    auto* const of = static_cast<EmbeddedNode*>(find(primary));
    if (replica == nullptr || of == nullptr || replica == of)
      throw std::runtime_error("node " + name + " cannot be demoted: there is no other node " + primary);
    replica->demote(door_between(*replica, *of));
  }

  void handed_over(const std::string& name, const std::string& primary) override {
    auto& leads = static_cast<EmbeddedNode&>(*find(primary));
    static_cast<EmbeddedNode&>(*find(name)).follow(leads.endpoint());
    leads.lead();
  }

 private:
  EmbeddedNode& node(std::size_t index) { return static_cast<EmbeddedNode&>(*nodes_[index]); }

  // Each node of a Redis Cluster is told of all of them before it starts.
  void introduce_all() {
    std::map<std::string, embedded::KnownNode> known;
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ids.push_back(embedded::random_hex(world_.harness().runtime()));
      node(i).open_door();
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      embedded::KnownNode& one = known[ids[i]];
      one.at = node(i).endpoint();
      one.bus_port = node(i).bus_port();
      one.config_epoch = static_cast<std::int64_t>(i) + 1;
      one.primary = !starts_as_replica(options_, i);
      if (one.primary) {
        const auto [first, last] = first_slots_of(options_, i);
        for (int slot = first; slot <= last; ++slot) one.slots.set(static_cast<std::size_t>(slot));
      } else {
        one.follows = ids[first_primary_of(options_, i)];
      }
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      node(i).memory() = {
          .id = ids[i], .current_epoch = static_cast<std::int64_t>(ids.size()), .nodes = known};
      node(i).on_role_changed = [this, name = node(i).name()](bool primary) {
        world_.harness().start("roles", [this, name, primary] {
          if (on_role_changed) on_role_changed(name, primary);
        });
      };
    }
  }

  // [parks] until every node says so, as a client would hear it.
  void wait_until_well() {
    Process& harness = world_.harness();
    const MonotonicTime limit = harness.runtime().now() + seconds(60);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ServerConnection connection(harness.network(), node(i).upstream(), limit);
      while (!connection.call({"CLUSTER", "INFO"}, limit).text.starts_with("cluster_state:ok"))
        harness.runtime().sleep_for(milliseconds(5));
    }
  }

  // [parks] until each knows all the others and all replicas.
  void start_sentinels() {
    watch_ = std::make_shared<SentinelWatch>(world_, node(0).name(), *this);
    for (const auto& each : nodes_) watch_->node(each->endpoint(), each->name());
    for (const auto& each : sentinels_) static_cast<EmbeddedSentinel&>(*each).open_door();
    for (const auto& each : sentinels_) {
      auto& sentinel = static_cast<EmbeddedSentinel&>(*each);
      sentinel.watches(node(0).endpoint());
      sentinel.start();
      watch_->listen(sentinel.upstream());
    }
    Process& harness = world_.harness();
    const MonotonicTime limit = harness.runtime().now() + seconds(60);
    for (const auto& each : sentinels_) {
      const std::string name(kPrimaryName);
      ServerConnection connection(harness.network(), static_cast<EmbeddedSentinel&>(*each).upstream(), limit);
      while (!knows_them_all(connection.call({"SENTINEL", "MASTER", name}, limit), nodes_.size() - 1,
                             sentinels_.size() - 1) ||
             !all_are_well(connection.call({"SENTINEL", "REPLICAS", name}, limit)))
        harness.runtime().sleep_for(milliseconds(5));
    }
  }

  // Where `replica` reaches `primary`: with Sentinels all go to the door that the primary announces.
  Endpoint door_between(const EmbeddedNode& replica, const EmbeddedNode& primary) {
    if (options_.topology == Topology::sentinel) return primary.endpoint();
    Endpoint& door = doors_[{replica.name(), primary.name()}];
    if (door.port == 0) door = proxy_.expose(primary.name(), primary.upstream(), replica.name());
    return door;
  }

  World& world_;
  Proxy& proxy_;
  ClusterOptions options_;
  std::vector<std::unique_ptr<ClusterNode>> nodes_;
  std::vector<std::unique_ptr<ClusterNode>> sentinels_;
  std::map<std::pair<std::string, std::string>, Endpoint> doors_;  // replica, primary
  std::shared_ptr<SentinelWatch> watch_;
};

}  // namespace

std::unique_ptr<Cluster> make_embedded_cluster(World& world, Proxy& proxy, const ClusterOptions& options) {
  return std::make_unique<EmbeddedCluster>(world, proxy, options);
}

}  // namespace holdfast::sim
