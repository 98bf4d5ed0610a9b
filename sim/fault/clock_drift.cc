// clock-drift: both clocks of a node or a client run fast or slow: by so many parts per million. Quartz
// clocks are off by up to 100 ppm, those of virtual machines by far more while nobody corrects them. A server
// with a fast clock ends leases early, a client with a slow one believes in its lease for too long. Drifts
// of several faults add up. Healing: this drift ends; what the clock has gained or lost stays.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ClockDrift final : public Fault {
 public:
  explicit ClockDrift(const FaultConfig& config)
      : node_(text_of(config, "node")),
        client_(text_of(config, "client")),
        ppm_(count_of(config, "ppm", 0)) {}

  Healing act(FaultTargets& targets) override {
    change(targets, node_, client_, ppm_);
    return [node = node_, client = client_, ppm = ppm_](FaultTargets& later) {
      change(later, node, client, -ppm);
    };
  }

 private:
  // The clock is the machine's: it stays when the process dies and is started again.
  static void change(FaultTargets& targets, const std::string& node, const std::string& client,
                     std::int64_t by) {
    const std::string& party = node.empty() ? client : node;
    std::int64_t ppm = by;
    if (!node.empty()) {
      ClusterNode& server = node_of(targets, node);
      ppm += server.drift();
      if (ppm > -kMillion) server.set_drift(ppm);
    } else if (Process* const process = targets.client(client)) {
      ppm += process->drift();
      if (ppm > -kMillion) process->set_drift(ppm);
    } else {
      throw std::runtime_error("the clock of " + client + " cannot drift: no client has started yet");
    }
    if (ppm <= -kMillion)
      throw std::runtime_error("the drifts of " + party + " add up to a clock that stands still");
    targets.tell({.what = checker::Effect::clock_drifts, .party = party, .ppm = ppm});
  }

  static constexpr std::int64_t kMillion = 1'000'000;
  std::string node_, client_;
  std::int64_t ppm_;
};

}  // namespace

FaultKind clock_drift_fault() {
  FaultKind kind{.name = "clock-drift", .about = "the clocks of a node or a client run fast or slow"};
  kind.keys = {
      {"node", FaultKey::Type::any_node, false, "whose clocks (or `client`)"},
      {"client", FaultKey::Type::client, false, "whose clocks (or `node`)"},
      {.name = "ppm",
       .type = FaultKey::Type::count,
       .required = true,
       .about = "parts per million fast, negative for slow: 10000 gains 10 ms in a second",
       .least = -900'000,
       .most = 1'000'000},
  };
  kind.inside_client = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ClockDrift>(config);
  };
  kind.problem = one_of_node_and_client;
  return kind;
}

}  // namespace holdfast::sim
