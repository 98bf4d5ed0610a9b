// full-resync: a replica loses its place in its primary's stream, again and again: its link breaks, it asks
// where it left off, and is sent everything instead, as when its primary's backlog is too short. Its question
// is changed on the way: `PSYNC id offset` becomes `PSYNC ? -1`. While it synchronises it has acknowledged
// nothing, so that WAIT and min-replicas-to-write count without it. It has hit with each question that was
// changed. Healing: it goes on where it is.
#include <chrono>
#include <memory>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr Duration kPause = std::chrono::seconds(1);
constexpr const char* kFromTheBeginning = "*3\r\n$5\r\nPSYNC\r\n$1\r\n?\r\n$2\r\n-1\r\n";

class FullResync final : public Fault {
 public:
  explicit FullResync(const FaultConfig& config)
      : node_(text_of(config, "node")), pause_(get_or<Duration>(config.values, "pause", kPause)) {}

  Healing act(FaultTargets& targets) override {
    NthMessage all;
    all.which = [node = node_](const Link& link) {
      return Lanes{.request = link.replication && link.from == node, .reply = false};
    };
    all.matches = [](const Message& message) { return message.command == "PSYNC"; };
    all.count = 0;
    all.action = {.instead = std::make_shared<const std::string>(kFromTheBeginning)};
    all.on_hit = targets.hit;
    const RuleId rule = targets.proxy.add_rule(make_nth_message_rule(std::move(all)));
    const auto over = std::make_shared<bool>(false);
    targets.world.harness().start(
        "full-resync", [over, node = node_, pause = pause_, &proxy = targets.proxy, &world = targets.world] {
          while (!*over) {
            proxy.reset_links([&](const Link& link) { return link.replication && link.from == node; });
            world.harness().runtime().sleep_for(pause);
          }
        });
    return [rule, over](FaultTargets& later) {
      *over = true;
      later.proxy.remove_rule(rule);
    };
  }

 private:
  const std::string node_;
  const Duration pause_;
};

}  // namespace

FaultKind full_resync_fault() {
  FaultKind kind{.name = "full-resync",
                 .about = "a replica loses its link and its place again and again, and is sent everything"};
  kind.keys = {{"node", FaultKey::Type::node, true, "the replica"},
               {"pause", FaultKey::Type::duration, false, "so often its link breaks (default 1s)"}};
  kind.must_end = kind.tells_hits = kind.needs_replicas = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<FullResync>(config);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    const Duration* const pause = config.get<Duration>("pause");
    return pause == nullptr || *pause >= std::chrono::milliseconds(1) ? "" : "a `pause` of \"1ms\" or more";
  };
  return kind;
}

}  // namespace holdfast::sim
