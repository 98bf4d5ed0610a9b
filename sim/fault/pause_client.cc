// pause-client: a client process stops with all its threads, its watchdog too (garbage collection, a
// suspended machine, SIGSTOP); its clocks go on. Healing: it goes on where it was, unless another pause acts.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class PauseClient final : public Fault {
 public:
  explicit PauseClient(const FaultConfig& config) : client_(text_of(config, "client")) {}

  Healing act(FaultTargets& targets) override {
    Process* const process = targets.client(client_);
    if (process == nullptr || !process->alive()) return {};
    process->pause();
    targets.tell({.what = checker::Effect::paused, .party = client_});
    return [process, client = client_](FaultTargets& later) {
      if (!process->alive()) return;  // a later incarnation was never paused
      process->resume();
      later.tell({.what = checker::Effect::resumed, .party = client});
    };
  }

 private:
  std::string client_;
};

}  // namespace

FaultKind pause_client_fault() {
  FaultKind kind{.name = "pause-client",
                 .about = "a client stops as a whole, its watchdog too, while time goes on"};
  kind.keys = {{"client", FaultKey::Type::client, true, "which client"}};
  kind.must_end = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<PauseClient>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
