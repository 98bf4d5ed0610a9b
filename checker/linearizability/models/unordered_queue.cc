// unordered-queue: a bag: a dequeue takes out any of the values that are inside.
//
// A dequeue of unknown outcome takes what nobody else takes out before the queue is next found empty. So
// the model counts them, and decides there: as many are inside as were counted. It may be placed right
// before that moment, and takes away nothing that another one needs. Where no dequeue finds the queue
// empty, they need not happen. State: [unknown dequeues, values, sorted, each as often as it is inside
// ...].
#include <algorithm>

#include "checker/linearizability/models/queue.h"

namespace holdfast::checker {

namespace {

class UnorderedQueueModel : public Model {
 public:
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override { return f == Function::enqueue || f == Function::dequeue; }
  State initial() const override { return {0}; }
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::dequeue && operation.value.empty()) {
      if (static_cast<std::int64_t>(state.size()) - 1 != state[0]) return false;
      state = {0};
      return true;
    }
    const std::int64_t value = operation.value.number();
    if (value == kAnything) {
      ++state[0];
      return true;
    }
    const auto place = std::lower_bound(state.begin() + 1, state.end(), value);
    if (operation.f == Function::enqueue) {
      state.insert(place, value);
      return true;
    }
    if (place == state.end() || *place != value) return false;
    state.erase(place);
    return true;
  }
  std::optional<std::string_view> decide(const std::vector<Operation>& operations,
                                         std::string& why_not) const override {
    return decide_queue(operations, false, why_not);
  }
  std::vector<ModelPart> prepare(const History& names,
                                 const std::vector<Operation>& operations) const override {
    std::vector<Operation> prepared = prepare_queue(names, operations);
    const bool emptied = std::any_of(prepared.begin(), prepared.end(),
                                     [](const Operation& each) { return each.value.empty(); });
    if (!emptied) std::erase_if(prepared, [](const Operation& each) { return each.value == kAnything; });
    std::vector<ModelPart> parts;
    parts.push_back({std::make_unique<UnorderedQueueModel>(), std::move(prepared)});
    return parts;
  }
};

}  // namespace

std::unique_ptr<Model> make_unordered_queue(const ModelOptions&) {
  return std::make_unique<UnorderedQueueModel>();
}

}  // namespace holdfast::checker
