// mutex-anonymous: locked or not, without owners, as Knossos's own mutex. State: [locked].
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class AnonymousMutexModel : public Model {
 public:
  State initial() const override { return {0}; }
  bool owners() const override { return false; }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t wanted = operation.f == Function::acquire ? 1 : 0;
    if (state[0] == wanted) return false;
    state[0] = wanted;
    return true;
  }
};

}  // namespace

std::unique_ptr<Model> make_anonymous_mutex(const ModelOptions&) {
  return std::make_unique<AnonymousMutexModel>();
}

}  // namespace holdfast::checker
