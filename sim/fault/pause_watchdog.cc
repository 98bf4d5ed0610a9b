// pause-watchdog: only the tasks of role "watchdog" of a client stop: it works on while its lease runs out.
// Healing: they go on.
#include <deque>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr std::string_view kRole = "watchdog";

class PauseWatchdog final : public Fault {
 public:
  explicit PauseWatchdog(const FaultConfig& config) : client_(text_of(config, "client")) {}

  void act(FaultTargets& targets) override {
    Process* process = targets.client(client_);
    if (process != nullptr && process->alive()) process->pause_role(kRole);
    paused_.push_back(process);
  }
  void heal(FaultTargets&) override {
    if (paused_.empty()) return;
    Process* process = paused_.front();
    paused_.pop_front();
    if (process != nullptr && process->alive()) process->resume_role(kRole);
  }

 private:
  std::string client_;
  std::deque<Process*> paused_;
};

}  // namespace

FaultKind pause_watchdog_fault() {
  FaultKind kind{.name = "pause-watchdog", .about = "only a client's watchdog stops: leases are not renewed"};
  kind.keys = {{"client", FaultKey::Type::client, true, "which client"}};
  kind.must_end = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<PauseWatchdog>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
