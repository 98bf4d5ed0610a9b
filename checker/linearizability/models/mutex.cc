// mutex: free or held by one owner, who alone releases it. State: [owner], 0 = free.
// leased-mutex, reentrant-leased-mutex: the same. extract_operations() makes a release of the end of a lease.
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class MutexModel : public Model {
 public:
  State initial() const override { return {0}; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool burdens(const Operation& operation) const override { return operation.f == Function::acquire; }
  Symbol only_owner(const State& state) const override { return static_cast<Symbol>(state[0]); }
  bool step(State& state, const Operation& operation) const override {
    if (operation.f == Function::acquire) {
      if (state[0] != 0) return false;
      state[0] = operation.owner;
      return true;
    }
    if (state[0] != operation.owner) return false;
    state[0] = 0;
    return true;
  }
};

// The joining of holds makes one hold of an entry and its re-entries.
class LeasedMutexModel : public MutexModel {
 public:
  explicit LeasedMutexModel(bool reentrant) : reentrant_(reentrant) {}
  bool leased() const override { return true; }
  bool reentrant() const override { return reentrant_; }

 private:
  const bool reentrant_;
};

}  // namespace

std::unique_ptr<Model> make_mutex(const ModelOptions&) { return std::make_unique<MutexModel>(); }
std::unique_ptr<Model> make_leased_mutex(const ModelOptions&) {
  return std::make_unique<LeasedMutexModel>(false);
}
std::unique_ptr<Model> make_reentrant_leased_mutex(const ModelOptions&) {
  return std::make_unique<LeasedMutexModel>(true);
}

}  // namespace holdfast::checker
