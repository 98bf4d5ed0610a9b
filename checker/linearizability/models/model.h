// Model: what an object does when its operations come one after another: its initial state and one step. A
// model is a file of about thirty lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "checker/linearizability/operations.h"

namespace holdfast::checker {

// A few numbers. Equal states must be equal vectors: keep lists in them sorted.
using State = std::vector<std::int64_t>;

struct ModelOptions {
  std::int64_t initial = kAbsent;  // register; kAbsent: nil
  std::int64_t permits = 1;        // semaphore
  std::int64_t most_entries = 0;   // reentrant locks: how often an owner may enter; 0: no bound
};

class Model {
 public:
  virtual ~Model() = default;
  virtual State initial() const = 0;
  // True: `operation` is legal in `state`, and `state` becomes the state after it. False: `state` is
  // unspecified. REQUIRES: the result depends only on the state and the operation's f, owner, process,
  // shared, permits, value and token.
  virtual bool step(State& state, const Operation& operation) const = 0;
  virtual bool locks() const { return true; }    // true: acquire and release; false: read, write and cas
  virtual bool leased() const { return false; }  // holds end by themselves at valid_until
  // Not 0: only operations of that owner are legal in the state. Makes the search faster, and changes no
  // verdict.
  virtual Symbol only_owner(const State&) const { return 0; }
  // True: the operation changes no state in which it is legal. Makes the search faster, changes no verdict.
  virtual bool observes(const Operation&) const { return false; }
  virtual bool queues() const { return false; }   // acquires are split by split_queued() of operations.h
  virtual bool resizes() const { return false; }  // also resize
  virtual bool owners() const { return true; }    // false: step() reads neither owner nor process
};

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
std::unique_ptr<Model> make_register(const ModelOptions& options);
std::unique_ptr<Model> make_cas_register(const ModelOptions& options);

}  // namespace holdfast::checker
