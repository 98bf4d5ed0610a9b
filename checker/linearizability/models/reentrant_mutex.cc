// reentrant-mutex: its owner may enter again, up to a bound if there is one. State: [owner, depth].
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class ReentrantMutexModel : public Model {
 public:
  explicit ReentrantMutexModel(std::int64_t most) : most_(most) {}
  State initial() const override { return {0, 0}; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool burdens(const Operation& operation) const override { return operation.f == Function::acquire; }
  bool reentrant() const override { return true; }
  Symbol only_owner(const State& state) const override { return static_cast<Symbol>(state[0]); }
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::acquire) {
      if (state[0] != 0 && state[0] != operation.owner) return false;
      if (most_ > 0 && state[1] >= most_) return false;
      state[0] = operation.owner;
      ++state[1];
      return true;
    }
    if (state[0] != operation.owner) return false;
    if (operation.whole || --state[1] == 0) state[0] = state[1] = 0;
    return true;
  }

 private:
  const std::int64_t most_;
};

}  // namespace

std::unique_ptr<Model> make_reentrant_mutex(const ModelOptions& options) {
  return std::make_unique<ReentrantMutexModel>(options.most_entries);
}

}  // namespace holdfast::checker
