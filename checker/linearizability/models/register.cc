// register: a value that is read and written. cas-register: also replaced, if it is the expected one. State:
// [value].
//
// If the register starts with a value, a read of nil is legal everywhere: by Knossos's convention the history
// does not say what was read. If it starts with nil, a read of nil must find nil.
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class RegisterModel : public Model {
 public:
  RegisterModel(bool with_cas, Value initial) : with_cas_(with_cas), initial_(initial) {}
  State initial() const override { return {initial_.bits()}; }
  bool locks() const override { return false; }
  bool owners() const override { return false; }
  bool takes(Function f) const override {
    return f == Function::read || f == Function::write || (with_cas_ && f == Function::cas);
  }
  bool observes(const Operation& operation) const override {
    return operation.f == Function::read ||
           (operation.f == Function::cas && operation.value == operation.token);
  }
  bool overwrites(const Operation& operation) const override { return operation.f == Function::write; }
  bool step(State& state, const Operation& operation) const override {
    switch (operation.f) {
      case Function::read:
        return state[0] == operation.value.bits() || (operation.value.empty() && !initial_.empty());
      case Function::write: state[0] = operation.value.bits(); return true;
      case Function::cas:
        if (!with_cas_ || state[0] != operation.token.bits()) return false;
        state[0] = operation.value.bits();
        return true;
      default: return false;
    }
  }

 private:
  const bool with_cas_;
  const Value initial_;
};

}  // namespace

std::unique_ptr<Model> make_register(const ModelOptions& options) {
  return std::make_unique<RegisterModel>(false, options.initial);
}
std::unique_ptr<Model> make_cas_register(const ModelOptions& options) {
  return std::make_unique<RegisterModel>(true, options.initial);
}

}  // namespace holdfast::checker
