// read-write: one writer or several readers. A writer may also read, and may then release the write lock: a
// downgrade. A reader may not become a writer. A release without a mode releases what its owner holds, the
// write lock first. The reentrant one lets the writer write again. State: [writer, how deep, readers, sorted,
// each as often as it entered ...].
#include <algorithm>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

namespace {

class ReadWriteModel : public Model {
 public:
  ReadWriteModel(bool reentrant, bool leased) : reentrant_(reentrant), leased_(leased) {}
  State initial() const override { return {0, 0}; }
  bool reentrant() const override { return reentrant_; }
  bool leased() const override { return leased_; }
  bool one_hold() const override { return false; }
  bool frees(const Operation& operation) const override { return operation.f == Function::release; }
  bool burdens(const Operation& operation) const override { return operation.f == Function::acquire; }
  bool step(State& state, const Operation& operation) const override {
    const std::int64_t owner = operation.owner;
    if (operation.f == Function::acquire) {
      if (operation.shared) {
        if (state[0] != 0 && state[0] != owner) return false;
        state.insert(std::upper_bound(state.begin() + 2, state.end(), owner), owner);
        return true;
      }
      const bool again = reentrant_ && state[0] == owner;
      if (!again && (state[0] != 0 || state.size() > 2)) return false;
      state[0] = owner;
      ++state[1];
      return true;
    }
    if (!operation.shared && state[0] == owner) {
      if (--state[1] == 0) state[0] = 0;
      return true;
    }
    const auto reader = std::find(state.begin() + 2, state.end(), owner);
    if (reader == state.end()) return false;
    state.erase(reader);
    return true;
  }

 private:
  const bool reentrant_, leased_;
};

}  // namespace

std::unique_ptr<Model> make_read_write(const ModelOptions&) {
  return std::make_unique<ReadWriteModel>(false, false);
}
std::unique_ptr<Model> make_reentrant_read_write(const ModelOptions&) {
  return std::make_unique<ReadWriteModel>(true, false);
}
std::unique_ptr<Model> make_leased_read_write(const ModelOptions&) {
  return std::make_unique<ReadWriteModel>(false, true);
}
std::unique_ptr<Model> make_reentrant_leased_read_write(const ModelOptions&) {
  return std::make_unique<ReadWriteModel>(true, true);
}

}  // namespace holdfast::checker
