// fair: a mutex with a queue, first come, first served. split_queued() of operations.h splits an acquire: it
// joins the queue, and it is granted when it is first there. An acquire that is not granted may leave the
// queue. State: [owner, waiting processes in their order ...].
#include <algorithm>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class FairModel : public Model {
 public:
  State initial() const override { return {0}; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool queues() const override { return true; }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t owner = operation.owner;
    switch (operation.f) {
      case Function::queue: state.push_back(operation.process); return true;
      case Function::acquire:
        if (state[0] != 0 || state.size() == 1 || state[1] != operation.process) return false;
        state.erase(state.begin() + 1);
        state[0] = owner;
        return true;
      case Function::lost: {
        const auto waits = std::find(state.begin() + 1, state.end(), std::int64_t{operation.process});
        if (waits == state.end()) return false;
        state.erase(waits);
        return true;
      }
      default:
        if (state[0] != owner) return false;
        state[0] = 0;
        return true;
    }
  }
};

}  // namespace

std::unique_ptr<Model> make_fair(const ModelOptions&) { return std::make_unique<FairModel>(); }

}  // namespace holdfast::checker
