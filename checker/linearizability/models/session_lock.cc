// session-lock: a mutex without a lease, as ZooKeeper, etcd or Consul offer with a session. A hold ends by
// its release, or with the session of its owner: at any time from the crash of the client on, or never. What
// a crash is depends on the format (checker/HISTORY.md); extract_operations() makes a release of it. State:
// [owner], 0 = free.
#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class SessionLockModel : public Model {
 public:
  State initial() const override { return {0}; }
  bool sessions() const override { return true; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool burdens(const Operation& operation) const override { return operation.f == Function::acquire; }
  Symbol only_owner(const State& state) const override { return static_cast<Symbol>(state[0]); }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t owner = operation.owner;
    const bool acquires = operation.f == Function::acquire;
    if (state[0] != (acquires ? 0 : owner)) return false;
    state[0] = acquires ? owner : 0;
    return true;
  }
};

}  // namespace

std::unique_ptr<Model> make_session_lock(const ModelOptions&) { return std::make_unique<SessionLockModel>(); }

}  // namespace holdfast::checker
