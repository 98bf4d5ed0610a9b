// thread-limit: a client's process has reached its limit of threads: no task can be started in it
// (Runtime::spawn() throws), neither a watchdog nor a connection's reader. The threads of the application are
// there. Healing: tasks can be started again. It has hit when one could not be.
#include <system_error>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ThreadLimit final : public Fault {
 public:
  explicit ThreadLimit(const FaultConfig& config)
      : client_(text_of(config, "client")), role_(text_of(config, "role")) {}

  Healing act(FaultTargets& targets) override {
    Process* const process = targets.client(client_);
    if (process == nullptr || !process->alive()) return {};
    const std::uint64_t refusal =
        process->refuse_tasks([role = role_, hit = targets.hit](std::string_view of) {
          if (of == "client" || (!role.empty() && of != role)) return false;
          hit();
          return true;
        });
    return [process, refusal](FaultTargets&) { process->allow_tasks(refusal); };
  }

 private:
  const std::string client_, role_;
};

}  // namespace

FaultKind thread_limit_fault() {
  FaultKind kind{.name = "thread-limit",
                 .about = "no task can be started in a client's process, as when it has no threads left"};
  kind.keys = {{"client", FaultKey::Type::client, true, "which client"},
               {"role", FaultKey::Type::text, false,
                "only tasks of that role, such as watchdog, reader, connector (default: any)"}};
  kind.must_end = kind.tells_hits = true;
  kind.inside_client = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ThreadLimit>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
