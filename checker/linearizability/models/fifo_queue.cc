// fifo-queue: what is put in first comes out first. State: [values in their order ...].
#include "checker/linearizability/models/queue.h"

namespace holdfast::checker {

namespace {

class FifoQueueModel : public Model {
 public:
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override { return f == Function::enqueue || f == Function::dequeue; }
  State initial() const override { return {}; }
  bool observes(const Operation& operation) const override {
    return operation.f == Function::dequeue && operation.value.empty();
  }
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::enqueue) {
      state.push_back(operation.value.number());
      return true;
    }
    if (operation.value.empty()) return state.empty();
    if (state.empty() || (operation.value != kAnything && operation.value != state.front())) return false;
    state.erase(state.begin());
    return true;
  }
  std::optional<std::string_view> decide(const std::vector<Operation>& operations,
                                         std::string& why_not) const override {
    return decide_queue(operations, true, why_not);
  }
  std::vector<ModelPart> prepare(const History& names,
                                 const std::vector<Operation>& operations) const override {
    std::vector<ModelPart> parts;
    parts.push_back({std::make_unique<FifoQueueModel>(), prepare_queue(names, operations)});
    return parts;
  }
};

}  // namespace

std::unique_ptr<Model> make_fifo_queue(const ModelOptions&) { return std::make_unique<FifoQueueModel>(); }

}  // namespace holdfast::checker
