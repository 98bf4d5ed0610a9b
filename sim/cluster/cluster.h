// Cluster: the Redis servers of one run: embedded ones, or `redis-server` child processes. Every connection
// to a server, a replica's to its primary included, goes through the proxy.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/net/network.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Proxy;
namespace embedded {
class KeyspaceWitness;
}

// ensemble: servers of another engine (sim/comparators) that agree by majority; the first starts as leader.
enum class Topology { single, primary_replica, independent, sentinel, cluster, ensemble };
enum class Persistence { none, rdb, aof_always, aof_everysec, aof_no };  // aof_no: appendfsync no

// Those who watch the primary of a `sentinel` topology and replace it. Its name among them: kPrimaryName.
struct SentinelSettings {
  std::vector<std::string> names = {"s1", "s2", "s3"};
  int quorum = 2;                                       // so many must agree that the primary is down
  Duration down_after = std::chrono::seconds(1);        // silent for so long: down, to one Sentinel
  Duration failover_timeout = std::chrono::seconds(3);  // of a step; twice that until the next attempt
  int parallel_syncs = 1;                               // replicas that turn to a new primary at a time
  // They ask and tell more often than real ones usually do: a failover takes about a second. False: as usual.
  bool quick = true;
};
inline constexpr std::string_view kPrimaryName = "mymaster";

// A Redis Cluster (topology `cluster`): the first nodes start as primaries with the hash slots dealt among
// them in order, the others as their replicas in turn.
struct ElectionSettings {
  int primaries = 3;
  Duration node_timeout = std::chrono::seconds(1);  // silent for so long: down, to one node
};

struct ClusterOptions {
  std::string engine = "redis";  // whose servers: that, or an engine of sim/comparators
  Topology topology = Topology::single;
  std::vector<std::string> nodes = {"r1"};  // primary-replica, sentinel: the first starts as primary
  SentinelSettings sentinels = {};          // sentinel
  ElectionSettings election = {};           // cluster
  // primary-replica: who follows another replica instead of the primary; that one stands earlier in `nodes`
  std::map<std::string, std::string> follows = {};
  Persistence persistence = Persistence::none;
  // NOREPLICAS to every write on a primary with fewer replicas than that whose last acknowledgement is at
  // most so old. Redis counts whole seconds. 0: not asked for. All nodes have the same.
  int min_replicas_to_write = 0;
  std::chrono::seconds min_replicas_max_lag{10};
  bool tls = false;  // single, primary-replica, independent: clients speak TLS, which the proxy ends
  // Of all nodes, name and value, from the table of server_settings.h; they win over what stands above.
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::string folder = {};  // real: an existing folder for this run's data and logs; embedded: unused
  // embedded: who is told what stands in the keyspace of the node of that name; outlives the cluster
  std::function<embedded::KeyspaceWitness*(const std::string& node)> witness = {};
};

// A node answered an administrator's command by an error.
class NodeRefuses : public std::runtime_error {
 public:
  // `answer`: without the "-" before it. `what`: "node r1 cannot be promoted".
  NodeRefuses(const std::string& what, std::string answer)
      : std::runtime_error(what + ": " + answer), answer_(std::move(answer)) {}
  bool says(std::string_view code) const {
    return answer_.starts_with(code) && (answer_.size() == code.size() || answer_[code.size()] == ' ');
  }
  // It will take the same command later: it runs a script, loads its data, hands over to a replica, or is one
  // that answers nothing before it has heard its primary (replica-serve-stale-data no).
  bool for_now() const {
    return says("BUSY") || says("LOADING") || says("MASTERDOWN") ||
           says("ERR REPLICAOF not allowed while failing over.");
  }

 private:
  std::string answer_;
};

class ClusterNode {
 public:
  virtual ~ClusterNode() = default;
  virtual const std::string& name() const = 0;
  virtual Endpoint endpoint() const = 0;  // where clients connect: the proxy's
  // Where its server listens itself, past the proxy: for measurements, which no fault disturbs.
  virtual Endpoint upstream() const { return endpoint(); }
  // Seconds of CPU that its processes have used since it was started last; 0: embedded, or not running.
  virtual double cpu_seconds() const { return 0; }
  virtual bool running() const = 0;
  // How often it was started. A pause is of one incarnation: it ends when that dies.
  virtual std::uint64_t incarnation() const = 0;

  // All of these are called on a task of the harness or of the proxy. [parks] where a real server needs time;
  // crash, lose_power, pause, resume, step_clock and set_drift act at once, without parking in the
  // embedded world. Errors: std::runtime_error that names the node (NodeRefuses: it said so itself).
  virtual void crash() = 0;  // SIGKILL
  // A crash that also takes from its disk what was neither synced by the server nor old enough that the
  // kernel wrote it (30 s; sim/redis/write_back.h): the end of an append-only file. Dumps are synced.
  virtual void lose_power() = 0;
  virtual void restart(
      bool keep_disk) = 0;  // after a crash, with the same role and address; returns when it answers
  // As restart(), but returns when it answers LOADING, as a server that has much to load. It loads until
  // finish_loading(), for a minute at most; that returns when it has loaded, or is not there any more.
  virtual void restart_loading(bool keep_disk) = 0;
  virtual void finish_loading() = 0;
  virtual void promote() = 0;  // REPLICAOF NO ONE
  virtual void pause() = 0;    // SIGSTOP; pauses count
  virtual void resume() = 0;   // SIGCONT, when each pause() of this incarnation had its resume()
  virtual void step_clock(Duration by) = 0;  // its wall clock (real: by the clock shim)
  // Both its clocks run `ppm` parts per million fast from now on (slow: negative). REQUIRES: above
  // -1'000'000.
  virtual void set_drift(std::int64_t ppm) = 0;
  virtual std::int64_t drift() const = 0;
  // [parks] One command of an administrator, past the proxy: its answer as text ("" of a list). Throws
  // NodeRefuses for an error reply.
  virtual std::string administer(std::span<const std::string> command) = 0;
  // [parks] SHUTDOWN with these words: it ends by itself, in order; returns when it has. Throws NodeRefuses.
  virtual void shut_down(std::span<const std::string>) { throw cannot("be shut down in order"); }
  // Its disk takes nothing more. A server that cannot go on without it ends by itself: running() says so.
  virtual void fill_disk(bool full) { static_cast<void>(full), throw cannot("have a full disk"); }
  virtual bool ended_by_itself() const { return false; }  // and nobody has noticed it before
  // Each sync of a file takes so much longer, whatever was said before.
  virtual void slow_disk(Duration by) { static_cast<void>(by), throw cannot("have a slow disk"); }
  virtual Duration disk_delay() const { return Duration::zero(); }

  // How many acts of one sort (by name) are in force; they are over when this incarnation dies.
  int& in_force(const std::string& sort) {
    auto& [since, acts] = in_force_[sort];
    if (since != incarnation()) {
      since = incarnation();
      acts = 0;
    }
    return acts;
  }

 private:
  std::runtime_error cannot(const char* what) const {
    return std::runtime_error("node " + name() + " cannot " + what);
  }

  std::map<std::string, std::pair<std::uint64_t, int>> in_force_;  // by sort: of which incarnation, how many
};

class Cluster {
 public:
  virtual ~Cluster() = default;  // stops every server and leaves nothing behind
  // [parks] Brings all servers up; returns when they answer and replicas are in sync.
  virtual void start() = 0;
  virtual const std::vector<std::unique_ptr<ClusterNode>>& nodes() const = 0;
  // Of a `sentinel` topology. A Sentinel cannot be promoted, and loads no data.
  virtual const std::vector<std::unique_ptr<ClusterNode>>& sentinels() const = 0;
  // Called on a task of the harness when Sentinels, or the nodes of a Redis Cluster, gave a node another
  // role: a primary, or a replica (an old primary that came back; what it alone had is lost when it
  // synchronises).
  std::function<void(const std::string& node, bool primary)> on_role_changed;
  // The same, when a Sentinel has told a replica to follow another primary than before.
  std::function<void(const std::string& replica)> on_replica_turned;
  // [parks] REPLICAOF: `node` is a replica of `primary` from now on, through a replication door of its own,
  // and discards what it alone has when it synchronises, which this does not wait for. Errors:
  // std::runtime_error that names the node.
  virtual void demote(const std::string& node, const std::string& primary) = 0;
  // FAILOVER made `node` a replica of `primary`, at the primary's door for clients: it comes back as that.
  virtual void handed_over(const std::string& node, const std::string& primary) = 0;
  ClusterNode* find(std::string_view name) const {
    for (const auto* const all : {&nodes(), &sentinels()}) {
      for (const auto& node : *all) {
        if (node->name() == name) return node.get();
      }
    }
    return nullptr;
  }
};

// Some nodes follow others.
inline bool has_replicas(Topology topology) {
  return topology == Topology::primary_replica || topology == Topology::sentinel ||
         topology == Topology::cluster;
}

// The nodes themselves agree who leads.
inline bool elects(Topology topology) {
  return topology == Topology::cluster || topology == Topology::ensemble;
}

inline bool starts_as_replica(const ClusterOptions& options, std::size_t node) {
  const bool elects = options.topology == Topology::cluster;
  return has_replicas(options.topology) &&
         node >= (elects ? static_cast<std::size_t>(options.election.primaries) : 1);
}

// The node that `node` follows at first, as a number in options.nodes. REQUIRES: it starts as a replica.
inline std::size_t first_primary_of(const ClusterOptions& options, std::size_t node) {
  if (options.topology == Topology::cluster)
    return node % static_cast<std::size_t>(options.election.primaries);
  const auto found = options.follows.find(options.nodes[node]);
  if (found == options.follows.end()) return 0;
  std::size_t at = 0;
  while (at < node && options.nodes[at] != found->second) ++at;
  return at;
}

// Those that follow the first node itself: WAIT and min-replicas-to-write count no others. In a Redis
// Cluster: the least that a primary has.
inline std::size_t direct_replicas(const ClusterOptions& options) {
  if (options.topology == Topology::cluster)
    return options.nodes.size() / static_cast<std::size_t>(options.election.primaries) - 1;
  std::size_t count = 0;
  for (std::size_t i = 1; i < options.nodes.size(); ++i) {
    if (starts_as_replica(options, i) && first_primary_of(options, i) == 0) ++count;
  }
  return count;
}

// The servers keep an append-only file.
inline bool appends(const ClusterOptions& options) {
  return options.persistence != Persistence::none && options.persistence != Persistence::rdb;
}

// The hash slots of a primary of a Redis Cluster at first, both included.
inline std::pair<int, int> first_slots_of(const ClusterOptions& options, std::size_t node) {
  constexpr int kSlots = 16384;
  const int number = static_cast<int>(node), all = options.election.primaries;
  return {number * kSlots / all, (number + 1) * kSlots / all - 1};
}

std::unique_ptr<Cluster> make_embedded_cluster(World& world, Proxy& proxy, const ClusterOptions& options);
// Throws MissingServer when there is no `redis-server` on this machine.
std::unique_ptr<Cluster> make_real_cluster(World& world, Proxy& proxy, const ClusterOptions& options);

}  // namespace holdfast::sim
