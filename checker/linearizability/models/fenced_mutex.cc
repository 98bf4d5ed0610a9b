// fenced-mutex: a mutex whose grants may have a token, each greater than all before it.
// reentrant-fenced-mutex: a re-entry has the token of the first entry, or none. Both mean the same as the
// models of Jepsen's Hazelcast suite. State: [owner, depth, token of this hold, greatest token].
#include <algorithm>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class FencedMutexModel : public Model {
 public:
  FencedMutexModel(bool reentrant, std::int64_t most) : reentrant_(reentrant), most_(most) {}
  State initial() const override { return {0, 0, kAbsent, kAbsent}; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool burdens(const Operation& operation) const override { return operation.f == Function::acquire; }
  bool reentrant() const override { return reentrant_; }
  bool fenced() const override { return true; }
  Symbol only_owner(const State& state) const override { return static_cast<Symbol>(state[0]); }
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::release) {
      if (state[0] != operation.owner) return false;
      if (operation.whole || --state[1] == 0) {
        state[0] = state[1] = 0;
        state[2] = kAbsent;
      }
      return true;
    }
    const std::int64_t token = operation.token.empty() ? kAbsent : operation.token.bits();
    const bool again = state[0] != 0;
    if (again && (!reentrant_ || state[0] != operation.owner)) return false;
    if (again && most_ > 0 && state[1] >= most_) return false;
    if (token != kAbsent) {
      const bool repeats = again && state[2] != kAbsent;
      if (repeats ? token != state[2] : state[3] != kAbsent && token <= state[3]) return false;
      state[2] = token;
      state[3] = std::max(state[3], token);
    }
    state[0] = operation.owner;
    ++state[1];
    return true;
  }

 private:
  const bool reentrant_;
  const std::int64_t most_;
};

}  // namespace

std::unique_ptr<Model> make_fenced_mutex(const ModelOptions&) {
  return std::make_unique<FencedMutexModel>(false, 0);
}
std::unique_ptr<Model> make_reentrant_fenced_mutex(const ModelOptions& options) {
  return std::make_unique<FencedMutexModel>(true, options.most_entries);
}

}  // namespace holdfast::checker
