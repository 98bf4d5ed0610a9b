// counter: `add` makes it greater by its value, which may be negative; `read` returns it. It starts at the
// initial value, or at 0. State: [value].
//
// Jepsen's checker of that name asks less: each read by itself must lie between the sum of the adds that
// were ok before it and the sum of those that were asked for before it returned. Every linearizable history
// of adds that are not negative passes that; the reverse is not so, since its reads need not agree with
// each other, nor be the sum of any adds.
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class CounterModel : public Model {
 public:
  explicit CounterModel(Value initial) : initial_(initial.number_or(0)) {}
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override { return f == Function::add || f == Function::read; }
  State initial() const override { return {initial_}; }
  bool observes(const Operation& operation) const override {
    return operation.f == Function::read || operation.value == std::int64_t{0};
  }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t value = operation.value.number_or(0);
    if (operation.f == Function::read) return state[0] == value;
    state[0] += value;
    return true;
  }
  std::vector<ModelPart> prepare(const History& names,
                                 const std::vector<Operation>& operations) const override {
    for (const Operation& each : operations) {
      const std::int64_t value = each.value.number_or(kMost);
      if (each.f == Function::read ? each.value.is_number() : value < kMost && -value < kMost) continue;
      throw BadOperation(each, (each.f == Function::read ? "a read of " : "an add of ") +
                                   names.shown(each.value) + ", expected a whole number below 2^40");
    }
    return {};
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of an add: millions of them do not overflow
  const std::int64_t initial_;
};

}  // namespace

std::unique_ptr<Model> make_counter(const ModelOptions& options) {
  return std::make_unique<CounterModel>(options.initial);
}

}  // namespace holdfast::checker
