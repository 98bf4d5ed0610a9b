// pause-client: a client process stops with all its threads, its watchdog too (garbage collection, a
// suspended machine, SIGSTOP); its clocks go on. Healing: it goes on where it was.
#include <deque>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class PauseClient final : public Fault {
 public:
  explicit PauseClient(const FaultConfig& config) : client_(text_of(config, "client")) {}

  void act(FaultTargets& targets) override {
    Process* process = targets.client(client_);
    if (process != nullptr && process->alive()) process->pause();
    paused_.push_back(process);
  }
  void heal(FaultTargets&) override {
    if (paused_.empty()) return;
    Process* process = paused_.front();  // a later incarnation was never paused
    paused_.pop_front();
    if (process != nullptr && process->alive()) process->resume();
  }

 private:
  std::string client_;
  std::deque<Process*> paused_;
};

}  // namespace

FaultKind pause_client_fault() {
  FaultKind kind{.name = "pause-client",
                 .about = "a client stops as a whole, its watchdog too, while time goes on"};
  kind.keys = {{"client", FaultKey::Type::client, true, "which client"}};
  kind.must_end = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<PauseClient>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
