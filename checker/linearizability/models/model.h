// Model: what an object does when its operations come one after another: its initial state and one step. A
// model is a file of about thirty lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "checker/linearizability/operations.h"

namespace holdfast::checker {

// A few numbers. Equal states must be equal vectors: keep lists in them sorted.
using State = std::vector<std::int64_t>;

struct ModelOptions {
  Value initial = {};             // register; nothing: nil
  std::int64_t permits = 1;       // semaphore
  std::int64_t most_entries = 0;  // reentrant locks: how often an owner may enter; 0: no bound
};

// What an operation carries has no meaning under the model, so nobody knows whether an order exists.
class BadOperation : public std::runtime_error {
 public:
  BadOperation(const Operation& operation, const std::string& problem);
  std::size_t position;  // in the history
};

struct ModelPart;

class Model {
 public:
  virtual ~Model() = default;
  virtual State initial() const = 0;
  // True: `operation` is legal in `state`, and `state` becomes the state after it. False: `state` is
  // unspecified. REQUIRES: the result depends only on the state and the operation's f, owner, process,
  // shared, whole, permits, value and token.
  virtual bool step(State& state, const Operation& operation) const = 0;
  virtual bool locks() const { return true; }  // true: acquire and release; false: what takes() says
  // The operations on the resource (Pairing::resource) that have a meaning here. REQUIRES: !locks().
  virtual bool takes(Function f) const {
    return f == Function::read || f == Function::write || f == Function::cas;
  }
  // The operations of one key in the form that step() takes, where that is not how the history has them
  // (texts, lists): values become numbers into tables, and what need not happen is left out. In parts, each
  // of which is judged by itself with a model that has the tables. Empty: this model takes them as they are.
  // `names`: of the history. Throws BadOperation.
  virtual std::vector<ModelPart> prepare(const History& names,
                                         const std::vector<Operation>& operations) const;
  // Whether an order exists, without a search: "" if so, else what is wrong, as one of the kinds of the check
  // `linearizable`. nullopt: it cannot say here; `why_not` says why. By times alone: what one process invokes
  // at the time of its return counts as concurrent; decide_linear() sees to that. REQUIRES: `operations` in
  // the order of their invocations.
  virtual std::optional<std::string_view> decide(const std::vector<Operation>& operations,
                                                 std::string& why_not) const;
  virtual bool sessions() const { return false; }   // holds end with their owner's session, in every format
  virtual bool leased() const { return false; }     // holds end by themselves at valid_until
  virtual bool one_hold() const { return true; }    // an owner has one hold at a time, however deep
  virtual bool reentrant() const { return false; }  // an owner may enter again what it holds
  // Not 0: only operations of that owner are legal in the state. Makes the search faster, and changes no
  // verdict.
  virtual Symbol only_owner(const State&) const { return 0; }
  // The next four make the search faster, and change no verdict. Each must hold in every state.
  // True: the operation changes no state in which it is legal.
  virtual bool observes(const Operation&) const { return false; }
  // True: where it is legal it takes nothing from other owners. At an earlier place where it is legal too, or
  // where it did not happen before, all operations of other owners that follow stay legal.
  virtual bool frees(const Operation&) const { return false; }
  // True: if its owner has no later operation, all operations that follow are legal without it.
  virtual bool burdens(const Operation&) const { return false; }
  // True: it is legal in every state, and the state after it does not depend on the one before.
  virtual bool overwrites(const Operation&) const { return false; }
  virtual bool queues() const { return false; }   // acquires are split by split_queued() of operations.h
  virtual bool resizes() const { return false; }  // also resize
  virtual bool fenced() const { return false; }   // reads tokens, and needs their order
  virtual bool owners() const { return true; }    // false: step() reads neither owner nor process
};

struct ModelPart {
  std::unique_ptr<Model> model;
  std::vector<Operation> operations;  // in the order of their invocations
};

// How the operations of a history are taken for the model. `jepsen`: the history is of Jepsen's formats.
ExtractOptions extract_options(const Model& model, bool jepsen);

struct ModelKind {
  std::string_view name;   // "reentrant-mutex"
  std::string_view about;  // one line
  std::unique_ptr<Model> (*make)(const ModelOptions& options);
};

const std::vector<ModelKind>& all_models();  // in the order of `holdfast list models`
const ModelKind* find_model(std::string_view name);

// The models of registry.cc.
std::unique_ptr<Model> make_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_anonymous_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_reentrant_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_fenced_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_reentrant_fenced_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_read_write(const ModelOptions& options);
std::unique_ptr<Model> make_semaphore(const ModelOptions& options);
std::unique_ptr<Model> make_fair(const ModelOptions& options);
std::unique_ptr<Model> make_leased_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_reentrant_leased_mutex(const ModelOptions& options);
std::unique_ptr<Model> make_leased_semaphore(const ModelOptions& options);
std::unique_ptr<Model> make_leased_read_write(const ModelOptions& options);
std::unique_ptr<Model> make_reentrant_read_write(const ModelOptions& options);
std::unique_ptr<Model> make_reentrant_leased_read_write(const ModelOptions& options);
std::unique_ptr<Model> make_register(const ModelOptions& options);
std::unique_ptr<Model> make_cas_register(const ModelOptions& options);
std::unique_ptr<Model> make_session_lock(const ModelOptions& options);
std::unique_ptr<Model> make_kv(const ModelOptions& options);
std::unique_ptr<Model> make_multi_register(const ModelOptions& options);
std::unique_ptr<Model> make_fifo_queue(const ModelOptions& options);
std::unique_ptr<Model> make_unordered_queue(const ModelOptions& options);
std::unique_ptr<Model> make_set(const ModelOptions& options);
std::unique_ptr<Model> make_counter(const ModelOptions& options);

}  // namespace holdfast::checker
