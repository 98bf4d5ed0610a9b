// semaphore: N permits. An acquire takes k of them; a release returns k, of which its owner must have as
// many. `resize` changes N, and takes no permit away. State: [N, taken, owner, its permits, owner, its
// permits ...], sorted by owner.
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class SemaphoreModel : public Model {
 public:
  explicit SemaphoreModel(std::int64_t permits) : permits_(permits) {}
  State initial() const override { return {permits_, 0}; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool burdens(const Operation& operation) const override { return operation.f == Function::acquire; }
  bool one_hold() const override { return false; }
  bool resizes() const override { return true; }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t owner = operation.owner, wanted = operation.permits;
    if (operation.f == Function::resize) {
      state[0] = operation.value.number_or(0);
      return true;
    }
    std::size_t at = 2;
    while (at < state.size() && state[at] < owner) at += 2;
    const bool has = at < state.size() && state[at] == owner;
    const auto place = state.begin() + static_cast<std::ptrdiff_t>(at);
    if (operation.f == Function::acquire) {
      if (state[1] + wanted > state[0]) return false;
      if (has) {
        state[at + 1] += wanted;
      } else {
        state.insert(place, {owner, wanted});
      }
      state[1] += wanted;
      return true;
    }
    if (!has || state[at + 1] < wanted) return false;
    state[at + 1] -= wanted;
    if (state[at + 1] == 0) state.erase(place, place + 2);
    state[1] -= wanted;
    return true;
  }

 private:
  const std::int64_t permits_;
};

class LeasedSemaphoreModel : public SemaphoreModel {
 public:
  using SemaphoreModel::SemaphoreModel;
  bool leased() const override { return true; }
};

}  // namespace

std::unique_ptr<Model> make_leased_semaphore(const ModelOptions& options) {
  return std::make_unique<LeasedSemaphoreModel>(options.permits);
}
std::unique_ptr<Model> make_semaphore(const ModelOptions& options) {
  return std::make_unique<SemaphoreModel>(options.permits);
}

}  // namespace holdfast::checker
