// fork-client: a client's process becomes two, as by fork(2): the child has the random state and the lock
// objects of its parent, and none of its tasks. It tries to take the lock that it inherited, which refuses
// (Forked), then makes a client and locks of its own and works like any other, as "c1-child-1". Nothing to
// heal. It has hit when what was inherited refused. Forks of a real process: lib/lock/engine/fork_test.cc.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ForkClient final : public Fault {
 public:
  explicit ForkClient(const FaultConfig& config) : client_(text_of(config, "client")) {}
  Healing act(FaultTargets& targets) override {
    targets.fork_client(client_, targets.hit);
    return {};
  }

 private:
  const std::string client_;
};

}  // namespace

FaultKind fork_client_fault() {
  FaultKind kind{.name = "fork-client",
                 .about = "a client forks: the child works, but not with what it inherited"};
  kind.keys = {{"client", FaultKey::Type::client, true, "which client"}};
  kind.at_once = kind.tells_hits = true;
  kind.inside_client = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ForkClient>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
