// The cluster on real redis-server processes.
//
// Every node has an address of its own out of 127.0.0.0/8 (that of the world's process of its name), binds to
// it and connects from it, so that whoever accepts a connection sees which node it is. Clients reach it
// through its door in the proxy; a replica reaches its primary through a replication door made for it, and
// announces its own door. The harness' own commands go past the proxy: they are subject to no fault.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>

#include "lib/testing/server/processes.h"
#include "sim/cluster/assembly.h"
#include "sim/cluster/clocked_redis.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/real_disk.h"
#include "sim/cluster/real_sentinel.h"
#include "sim/cluster/role_watch.h"
#include "sim/cluster/sentinel_watch.h"
#include "sim/cluster/slow_load.h"
#include "sim/proxy/proxy.h"

namespace holdfast::sim {
namespace {

std::vector<std::string> persistence_settings(Persistence persistence) {
  switch (persistence) {
    case Persistence::none: return {};
    case Persistence::rdb: return {"--save", "3600 1 300 100 60 10000"};
    case Persistence::aof_always: return {"--appendonly", "yes", "--appendfsync", "always"};
    case Persistence::aof_everysec: return {"--appendonly", "yes", "--appendfsync", "everysec"};
    case Persistence::aof_no: return {"--appendonly", "yes", "--appendfsync", "no"};
  }
  return {};
}

// The value of `field` in the text of INFO.
std::string info_field(const std::string& info, const std::string& field) {
  const std::size_t at = info.find("\r\n" + field + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + 2 + field.size() + 1;
  return info.substr(begin, info.find("\r\n", begin) - begin);
}

// A busy machine must not have them elect before the run begins.
constexpr std::chrono::seconds kWhileAssembled{5};

std::string in_ms(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

class RealNode final : public ClusterNode {
 public:
  RealNode(World& world, Proxy& proxy, std::string name, const ClusterOptions& options)
      : world_(world),
        proxy_(proxy),
        name_(std::move(name)),
        options_(options),
        data_folder_(options.folder + "/" + name_ + "/data"),
        append_only_folder_(data_folder_ + "/appendonlydir"),
        configuration_(options.topology == Topology::sentinel ? options.folder + "/" + name_ + "/redis.conf"
                                                              : ""),
        disk_(std::make_shared<RealDisk>(append_only_folder_)),
        process_(world.harness().runtime(), world.harness().network(),
                 {.folder = options.folder + "/" + name_,
                  .address = world.add_process(name_).address(),
                  .configuration = configuration_}) {
    if (options_.topology == Topology::cluster)
      bus_port_ = choose_port(world.harness().network(), process_.endpoint().host);
  }

  const std::string& name() const override { return name_; }
  Endpoint endpoint() const override { return door_; }
  Endpoint upstream() const override { return process_.endpoint(); }
  double cpu_seconds() const override { return cpu_seconds_of(process_.pid()); }
  bool running() const override { return process_.running(); }
  std::uint64_t incarnation() const override { return incarnation_; }

  void crash() override {
    if (process_.running()) proxy_.set_node(name_, NodeState::down);
    process_.kill();
  }

  void lose_power() override {
    proxy_.set_node(name_, NodeState::off);
    process_.kill();
    disk_->lose_power(world_.harness().runtime().now(), process_.clock());
  }

  void restart(bool keep_disk) override {
    prepare_restart(keep_disk);
    start();
  }

  void restart_loading(bool keep_disk) override {
    prepare_restart(keep_disk);
    const SlowLoad slow(data_folder_, appends());
    start(RedisProcess::Until::loading);
  }

  void finish_loading() override {
    if (!running() || in_force("loading") == 0) return;
    const std::uint64_t loads = incarnation();
    in_force("loading") = 0;
    try {
      administer(SlowLoad::let_it_go_on());
      for (;;) {
        const redis::Reply reply = call({"PING"});
        if (!reply.is_error() || reply.error_code() != "LOADING") return;
        world_.harness().runtime().sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const std::runtime_error&) {
      if (running() && incarnation() == loads) throw;
    }
  }

  // Where a restart() begins.
  void prepare_restart(bool keep_disk) {
    if (process_.running()) throw std::runtime_error("node " + name_ + " cannot be restarted: it runs");
    proxy_.set_node(name_, NodeState::down);
    if (!keep_disk) {
      process_.erase_disk();
      process_.clock().forget_synced();
      *disk_ = RealDisk(append_only_folder_);
    }
  }

  void promote() override {
    if (in_cluster()) throw std::runtime_error("node " + name_ + " cannot be promoted: a Cluster elects");
    const redis::Reply reply = call({"REPLICAOF", "NO", "ONE"});
    if (reply.is_error()) throw NodeRefuses("node " + name_ + " cannot be promoted", reply.text);
    primary_.reset();
  }

  std::string administer(std::span<const std::string> words) override {
    const redis::Reply reply = call(words);
    if (reply.is_error()) throw NodeRefuses("node " + name_ + " refuses " + words.front(), reply.text);
    return reply.type == redis::Reply::Type::integer ? std::to_string(reply.integer) : reply.text;
  }

  void shut_down(std::span<const std::string> words) override {
    std::vector<std::string> command = {"SHUTDOWN"};
    command.insert(command.end(), words.begin(), words.end());
    Runtime& runtime = world_.harness().runtime();
    const MonotonicTime limit = deadline_after(runtime.now(), std::chrono::seconds(60));
    try {
      const redis::Reply reply = process_.call(command);
      if (reply.is_error()) throw NodeRefuses("node " + name_ + " refuses SHUTDOWN", reply.text);
    } catch (const NodeRefuses&) {
      throw;
    } catch (const std::runtime_error&) {  // it ends without an answer, when its replicas have everything
    }
    while (process_.running()) {
      if (runtime.now() >= limit) throw std::runtime_error("node " + name_ + " does not shut down");
      runtime.sleep_for(std::chrono::milliseconds(1));
    }
    proxy_.set_node(name_, NodeState::down);
    process_.kill();
  }

  void fill_disk(bool full) override { process_.clock().fill_disk(full); }
  bool ended_by_itself() const override { return process_.pid() != -1 && !process_.running(); }
  void slow_disk(Duration by) override { process_.clock().slow_disk(by); }
  Duration disk_delay() const override { return process_.clock().disk_delay(); }

  // [parks]
  void demote(const Endpoint& primary) {
    if (in_cluster()) throw std::runtime_error("node " + name_ + " cannot be demoted: a Cluster elects");
    const redis::Reply reply = call({"REPLICAOF", primary.host, std::to_string(primary.port)});
    if (reply.is_error()) throw NodeRefuses("node " + name_ + " cannot be demoted", reply.text);
    primary_ = primary;
  }

  void pause() override {
    if (pauses_++ == 0) process_.pause();
  }
  void resume() override {
    if (pauses_ > 0 && --pauses_ == 0) process_.resume();
  }
  void step_clock(Duration by) override { process_.clock().step_wall(by); }
  void set_drift(std::int64_t ppm) override { process_.clock().set_drift(ppm); }
  std::int64_t drift() const override { return process_.clock().drift(); }

  // Opens the door for clients. `primary`: where this node replicates from, through the proxy.
  void open_door() {
    door_ = proxy_.expose(name_, process_.endpoint());
    if (in_cluster()) bus_door_ = proxy_.expose_bus(name_, {process_.endpoint().host, bus_port_});
  }
  void follow(Endpoint primary) { primary_ = std::move(primary); }
  void lead() { primary_.reset(); }
  void write_configuration() const {
    if (configuration_.empty()) return;
    std::filesystem::create_directories(options_.folder + "/" + name_);
    std::ofstream file(configuration_, std::ios::trunc);
    if (primary_) file << "replicaof " << primary_->host << ' ' << primary_->port << '\n';
    file.close();
    if (!file) throw std::runtime_error("cannot write " + configuration_);
  }

  // Looks at the append-only file once a second, as long as this node is there.
  void watch_disk() {
    if (!appends()) return;
    Runtime& runtime = world_.harness().runtime();
    world_.harness().start("disk", [&runtime, disk = std::weak_ptr<RealDisk>(disk_)] {
      while (const std::shared_ptr<RealDisk> here = disk.lock()) {
        here->saw(runtime.now());
        runtime.sleep_for(std::chrono::seconds(1));
      }
    });
  }

  // [parks]
  void start(RedisProcess::Until until = RedisProcess::Until::loaded) {
    if (incarnation_++ == 0) write_configuration();
    pauses_ = 0;
    std::vector<std::string> settings = persistence_settings(options_.persistence);
    if (options_.min_replicas_to_write > 0) {
      settings.insert(settings.end(),
                      {"--min-replicas-to-write", std::to_string(options_.min_replicas_to_write),
                       "--min-replicas-max-lag", std::to_string(options_.min_replicas_max_lag.count())});
    }
    for (const auto& [name, value] : options_.settings) settings.insert(settings.end(), {"--" + name, value});
    settings.insert(settings.end(), {"--replica-announce-ip", door_.host, "--replica-announce-port",
                                     std::to_string(door_.port)});
    if (in_cluster()) {
      // Its own file of the cluster is no data: a node that lost its disk comes back as the same node.
      const Duration timeout = options_.election.node_timeout;
      settings.insert(settings.end(),
                      {"--cluster-enabled", "yes", "--cluster-config-file",
                       options_.folder + "/" + name_ + "/nodes.conf", "--cluster-node-timeout",
                       in_ms(incarnation_ == 1 ? std::max<Duration>(timeout, kWhileAssembled) : timeout),
                       "--cluster-port", std::to_string(bus_port_), "--cluster-announce-ip", door_.host,
                       "--cluster-announce-port", std::to_string(door_.port), "--cluster-announce-bus-port",
                       std::to_string(bus_door_.port)});
    }
    if (primary_ && configuration_.empty()) {
      settings.insert(settings.end(), {"--replicaof", primary_->host + " " + std::to_string(primary_->port)});
    }
    if (until == RedisProcess::Until::loading) {
      const std::vector<std::string> slow = SlowLoad::settings();
      settings.insert(settings.end(), slow.begin(), slow.end());
      in_force("loading") = 1;
    }
    try {
      process_.start(settings, until);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("node " + name_ + ": " + error.what());
    }
    if (process_.running()) proxy_.set_node(name_, NodeState::up);
  }

  // [parks]
  redis::Reply call(std::span<const std::string> command) {
    for (int more = 300;; --more) {
      try {
        return process_.call(command);
      } catch (const std::runtime_error& error) {
        // Two that kill connections at one moment kill each other's: one of them has to be later.
        if (command.front() != "CLIENT" || more == 0 || !process_.running()) {
          throw std::runtime_error("node " + name_ + " does not answer " + command.front() + ": " +
                                   error.what());
        }
      }
      world_.harness().runtime().sleep_for(std::chrono::microseconds(500));
    }
  }
  redis::Reply call(std::initializer_list<std::string> command) {
    return call(std::span(command.begin(), command.size()));
  }

  bool appends() const {
    return options_.persistence != Persistence::none && options_.persistence != Persistence::rdb;
  }
  bool in_cluster() const { return options_.topology == Topology::cluster; }
  ClusterMember member() {
    return {name_, door_, bus_door_.port, [this](const auto& command) { return call(std::span(command)); }};
  }

 private:
  World& world_;
  Proxy& proxy_;
  std::string name_;
  const ClusterOptions options_;
  std::string data_folder_, append_only_folder_;
  const std::string configuration_;  // the file that Sentinels have it rewrite; "": none
  std::shared_ptr<RealDisk> disk_;
  ClockedRedis process_;
  Endpoint door_, bus_door_;
  std::uint16_t bus_port_ = 0;
  std::optional<Endpoint> primary_;
  std::uint64_t incarnation_ = 0;
  int pauses_ = 0;  // of this incarnation
};

class RealCluster final : public Cluster {
 public:
  RealCluster(World& world, Proxy& proxy, const ClusterOptions& options)
      : world_(world), proxy_(proxy), options_(options) {
    for (const std::string& name : options.nodes) {
      nodes_.push_back(std::make_unique<RealNode>(world, proxy, name, options));
    }
    if (options.topology != Topology::sentinel) return;
    for (const std::string& name : options.sentinels.names)
      sentinels_.push_back(std::make_unique<RealSentinel>(world, proxy, name, options));
  }

  const std::vector<std::unique_ptr<ClusterNode>>& nodes() const override { return nodes_; }
  const std::vector<std::unique_ptr<ClusterNode>>& sentinels() const override { return sentinels_; }

  void start() override {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      node(i).open_door();
      if (starts_as_replica(options_, i) && options_.topology != Topology::cluster)
        node(i).follow(door_between(node(i), node(first_primary_of(options_, i))));
    }
    start_servers();
    if (options_.topology == Topology::cluster) {
      std::vector<ClusterMember> members;
      for (std::size_t i = 0; i < nodes_.size(); ++i) members.push_back(node(i).member());
      assemble_cluster(world_.harness().runtime(), options_, members);
    }
    Runtime& runtime = world_.harness().runtime();
    const MonotonicTime limit = deadline_after(runtime.now(), std::chrono::seconds(60));
    const auto wait_for = [&](const auto& done) {
      for (; !done(); runtime.sleep_for(std::chrono::milliseconds(5))) {
        if (runtime.now() >= limit)
          throw std::runtime_error("replicas do not come in sync with node " + node(0).name());
      }
    };
    wait_for([&] { return in_sync(); });
    // A primary sends what comes after its data from a replica's first acknowledgement on, a second later. So
    // it has something to send that changes no key; in a Redis Cluster nodes publish past their replicas.
    for (std::size_t i = 0; i < nodes_.size() && options_.topology != Topology::cluster; ++i)
      if (!starts_as_replica(options_, i)) node(i).call({"PUBLISH", "holdfast:in-sync", ""});
    if (options_.topology != Topology::cluster) wait_for([&] { return replicas_have_all(); });
    if (!sentinels_.empty()) start_sentinels();
    if (options_.topology == Topology::cluster) watch_roles();
  }

  void demote(const std::string& name, const std::string& primary) override {
    auto* const replica = static_cast<RealNode*>(find(name));
    auto* const of = static_cast<RealNode*>(find(primary));
    if (replica == nullptr || of == nullptr || replica == of)
      throw std::runtime_error("node " + name + " cannot be demoted: there is no other node " + primary);
    replica->demote(door_between(*replica, *of));
  }

  void handed_over(const std::string& name, const std::string& primary) override {
    auto& leads = static_cast<RealNode&>(*find(primary));
    static_cast<RealNode&>(*find(name)).follow(leads.endpoint());
    leads.lead();
  }

 private:
  RealNode& node(std::size_t index) { return static_cast<RealNode&>(*nodes_[index]); }

  // [parks] Starts these side by side. Throws what went wrong first.
  void side_by_side(const std::vector<std::function<void()>>& starts) {
    std::string problem;
    {
      std::vector<Task> tasks;
      for (const std::function<void()>& start : starts) {
        tasks.push_back(world_.harness().runtime().spawn("start", [&start, &problem] {
          try {
            start();
          } catch (const std::runtime_error& error) {
            if (problem.empty()) problem = error.what();
          }
        }));
      }
    }  // joined
    if (!problem.empty()) throw std::runtime_error(problem);
  }

  // [parks] Whoever follows another one is started after it: it would try again a second later.
  void start_servers() {
    std::vector<bool> started(nodes_.size(), false);
    for (std::size_t left = nodes_.size(); left > 0;) {
      std::vector<std::size_t> now;
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const bool follows =
            starts_as_replica(options_, i) && options_.topology != Topology::cluster;  // told later
        if (!started[i] && (!follows || started[first_primary_of(options_, i)])) now.push_back(i);
      }
      std::vector<std::function<void()>> starts;
      for (const std::size_t i : now) {
        started[i] = true;
        starts.push_back([this, i] {
          node(i).start();
          node(i).watch_disk();
        });
      }
      side_by_side(starts);
      left -= now.size();
    }
  }

  void watch_roles() {
    const std::string timeout = in_ms(options_.election.node_timeout);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      node(i).call({"CONFIG", "SET", "cluster-node-timeout", timeout});
    roles_ = std::make_shared<RoleWatch>(world_, [this](const std::string& name, bool primary) {
      if (on_role_changed) on_role_changed(name, primary);
    });
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      roles_->look_at(node(i).name(), node(i).upstream(), !starts_as_replica(options_, i));
  }

  // [parks] until each knows all the others and all replicas.
  void start_sentinels() {
    watch_ = std::make_shared<SentinelWatch>(world_, node(0).name(), *this);
    for (const auto& each : nodes_) watch_->node(each->endpoint(), each->name());
    for (const auto& each : sentinels_) static_cast<RealSentinel&>(*each).open_door();
    std::vector<std::function<void()>> starts;
    for (const auto& each : sentinels_) {
      auto& sentinel = static_cast<RealSentinel&>(*each);
      sentinel.watches(node(0).endpoint());
      starts.push_back([this, &sentinel] {
        sentinel.start();
        watch_->listen(sentinel.upstream());
      });
    }
    side_by_side(starts);
    Runtime& runtime = world_.harness().runtime();
    const MonotonicTime limit = deadline_after(runtime.now(), std::chrono::seconds(60));
    for (const auto& each : sentinels_) {
      auto& sentinel = static_cast<RealSentinel&>(*each);
      const std::string name(kPrimaryName);
      while (!knows_them_all(sentinel.call({"SENTINEL", "MASTER", name}), nodes_.size() - 1,
                             sentinels_.size() - 1) ||
             !all_are_well(sentinel.call({"SENTINEL", "REPLICAS", name}))) {
        if (runtime.now() >= limit)
          throw std::runtime_error("sentinel " + sentinel.name() + " does not get to know the others");
        runtime.sleep_for(std::chrono::milliseconds(20));
      }
    }
  }

  // Where `replica` reaches `primary`: with Sentinels all go to the door that the primary announces.
  Endpoint door_between(const RealNode& replica, const RealNode& primary) {
    if (options_.topology == Topology::sentinel) return primary.endpoint();
    Endpoint& door = doors_[{replica.name(), primary.name()}];
    if (door.port == 0) door = proxy_.expose(primary.name(), primary.upstream(), replica.name());
    return door;
  }

  // What the first primaries have sent. A replica of a replica gets the same bytes.
  bool replicas_have_all() {
    const auto has = [&](std::size_t of, const char* field) {
      return info_field(node(of).call({"INFO", "replication"}).text, field);
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      std::size_t root = i;
      while (starts_as_replica(options_, root)) root = first_primary_of(options_, root);
      if (root != i && has(i, "slave_repl_offset") != has(root, "master_repl_offset")) return false;
    }
    return true;
  }

  // Both sides must say so.
  bool in_sync() {
    std::map<std::size_t, int> replicas;  // by whom they follow
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!starts_as_replica(options_, i)) continue;
      ++replicas[first_primary_of(options_, i)];
      if (info_field(node(i).call({"INFO", "replication"}).text, "master_link_status") != "up") return false;
    }
    for (const auto& [primary, count] : replicas) {
      const std::string info = node(primary).call({"INFO", "replication"}).text;
      for (int i = 0; i < count; ++i) {
        if (info_field(info, "slave" + std::to_string(i)).find("state=online") == std::string::npos)
          return false;
      }
    }
    return true;
  }

  World& world_;
  Proxy& proxy_;
  ClusterOptions options_;
  std::vector<std::unique_ptr<ClusterNode>> nodes_;
  std::vector<std::unique_ptr<ClusterNode>> sentinels_;
  std::map<std::pair<std::string, std::string>, Endpoint> doors_;  // replica, primary
  std::shared_ptr<SentinelWatch> watch_;
  std::shared_ptr<RoleWatch> roles_;
};

}  // namespace

std::unique_ptr<Cluster> make_real_cluster(World& world, Proxy& proxy, const ClusterOptions& options) {
  return std::make_unique<RealCluster>(world, proxy, options);
}

}  // namespace holdfast::sim
