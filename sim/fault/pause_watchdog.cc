// pause-watchdog: only the tasks of role "watchdog" of a client stop: it works on while its lease runs out.
// Healing: they go on.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr std::string_view kRole = "watchdog";

class PauseWatchdog final : public Fault {
 public:
  explicit PauseWatchdog(const FaultConfig& config) : client_(text_of(config, "client")) {}

  Healing act(FaultTargets& targets) override {
    Process* const process = targets.client(client_);
    if (process == nullptr || !process->alive()) return {};
    const std::string party = client_ + "/" + std::string(kRole);
    process->pause_role(kRole);
    targets.tell({.what = checker::Effect::paused, .party = party});
    return [process, party](FaultTargets& later) {
      if (!process->alive()) return;
      process->resume_role(kRole);
      later.tell({.what = checker::Effect::resumed, .party = party});
    };
  }

 private:
  std::string client_;
};

}  // namespace

FaultKind pause_watchdog_fault() {
  FaultKind kind{.name = "pause-watchdog", .about = "only a client's watchdog stops: leases are not renewed"};
  kind.keys = {{"client", FaultKey::Type::client, true, "which client"}};
  kind.must_end = true;
  kind.inside_client = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<PauseWatchdog>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
