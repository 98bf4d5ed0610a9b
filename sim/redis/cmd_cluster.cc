// Redis Cluster as commands: CLUSTER, READONLY, READWRITE, ASKING. What CLUSTER answers: sim/redis/cluster/.
#include "sim/redis/cluster/cluster.h"
#include "sim/redis/command.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {
namespace {

constexpr std::string_view kNoCluster = "ERR This instance has cluster support disabled";

void cluster(Call& c) {
  if (c.engine.cluster() == nullptr) return c.out.error(kNoCluster);
  c.engine.cluster()->answer(c);
}

void read_from_replica(Call& c, bool yes) {
  if (c.engine.cluster() == nullptr) return c.out.error(kNoCluster);
  c.session.reads_replica = yes;
  c.out.ok();
}
void readonly(Call& c) { read_from_replica(c, true); }
void readwrite(Call& c) { read_from_replica(c, false); }

void asking(Call& c) {
  if (c.engine.cluster() == nullptr) return c.out.error(kNoCluster);
  c.session.asking = true;
  c.out.ok();
}

}  // namespace

void add_cluster_commands(Specs& specs) {
  specs.insert(specs.end(), {
                                {"cluster", nullptr, -2, kContainer},
                                {"cluster|addslots", cluster, -3, kAdmin},
                                {"cluster|addslotsrange", cluster, -4, kAdmin},
                                {"cluster|bumpepoch", cluster, 2, kAdmin},
                                {"cluster|count-failure-reports", cluster, 3, kAdmin},
                                {"cluster|countkeysinslot", cluster, 3, 0},
                                {"cluster|delslots", cluster, -3, kAdmin},
                                {"cluster|delslotsrange", cluster, -4, kAdmin},
                                {"cluster|failover", cluster, -2, kAdmin},
                                {"cluster|flushslots", cluster, 2, kAdmin},
                                {"cluster|forget", cluster, 3, kAdmin},
                                {"cluster|getkeysinslot", cluster, 4, 0},
                                {"cluster|info", cluster, 2, 0},
                                {"cluster|keyslot", cluster, 3, 0},
                                {"cluster|links", cluster, 2, 0},
                                {"cluster|meet", cluster, -4, kAdmin},
                                {"cluster|myid", cluster, 2, 0},
                                {"cluster|nodes", cluster, 2, 0},
                                {"cluster|replicas", cluster, 3, kAdmin},
                                {"cluster|replicate", cluster, 3, kAdmin},
                                {"cluster|reset", cluster, -2, kAdmin | kNoScript},
                                {"cluster|saveconfig", cluster, 2, kAdmin},
                                {"cluster|set-config-epoch", cluster, 3, kAdmin},
                                {"cluster|setslot", cluster, -4, kAdmin},
                                {"cluster|shards", cluster, 2, 0},
                                {"cluster|slaves", cluster, 3, kAdmin},
                                {"cluster|slots", cluster, 2, 0},
                                {"readonly", readonly, 1, kFast},
                                {"readwrite", readwrite, 1, kFast},
                                {"asking", asking, 1, kFast},
                            });
}

}  // namespace holdfast::sim::embedded
