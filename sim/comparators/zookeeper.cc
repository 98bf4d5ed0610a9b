// ZooKeeper as an engine: what a scenario may say of it, and its lock. What needs its client library is in
// zookeeper/, which is built where that is found (CMakeLists.txt).
#include "sim/comparators/zookeeper/zookeeper.h"
#include "sim/comparators/engine.h"

#ifdef HOLDFAST_WITH_LIBZOOKEEPER
#define HOLDFAST_OF_LIBZOOKEEPER(what) zookeeper::what
#else
#define HOLDFAST_OF_LIBZOOKEEPER(what) nullptr
#endif

namespace holdfast::sim {
namespace {

std::string missing() {
#ifdef HOLDFAST_WITH_LIBZOOKEEPER
  const std::string what = zookeeper::missing_of_server();
  return what.empty()
             ? ""
             : what +
                   " is not installed on this machine; install it with: " + std::string(kInstallComparators);
#else
  return "this build of holdfast has no client of ZooKeeper; install libzookeeper-st-dev and build it "
         "anew: " +
         std::string(kInstallComparators);
#endif
}

}  // namespace

Engine zookeeper_engine() {
  LockKind lock{.name = "zk-recipe",
                .about =
                    "ZooKeeper: the published recipe, an ephemeral sequential node, held by the lowest; "
                    "waiters watch the one before theirs"};
  lock.engine = "zookeeper";
  lock.tokens = true;
  lock.lease = Duration::zero();  // its session is its lease
  lock.make = HOLDFAST_OF_LIBZOOKEEPER(recipe_locks);
  return {
      .name = "zookeeper",
      .about = "ZooKeeper; an ensemble agrees by majority",
      .topologies = {Topology::single, Topology::ensemble},
      .settings = {{"tickTime", "milliseconds, in which the others are counted (500)"},
                   {"initLimit", "ticks that a follower may take to come in sync (20)"},
                   {"syncLimit", "ticks that a follower and its leader may be silent (4)"},
                   {"minSessionTimeout",
                    "milliseconds of silence that a session survives, at least (two ticks)"},
                   {"maxSessionTimeout", "and at most; clients ask for 4000 (twenty ticks)"}},
      .locks = {lock},
      .missing = missing,
      .version_command = HOLDFAST_OF_LIBZOOKEEPER(version_command),
      .make = HOLDFAST_OF_LIBZOOKEEPER(make_cluster),
  };
}

}  // namespace holdfast::sim
