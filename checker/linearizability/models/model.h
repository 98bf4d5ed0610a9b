// Model: what an object does when its operations come one after another. A model is a file of some thirty
// lines: what it starts with, and one step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "checker/linearizability/operations.h"

namespace holdfast::checker {

// A few numbers; equal states are equal vectors (keep lists in them sorted).
using State = std::vector<std::int64_t>;

struct ModelOptions {
  std::int64_t initial = kAbsent;  // register: its value; kAbsent is nil
  std::int64_t permits = 1;        // semaphore
  std::int64_t most_entries = 0;   // reentrant locks: how deep; 0: without bound
};

class Model {
 public:
  virtual ~Model() = default;
  virtual State initial() const = 0;
  // Whether `operation` may happen in `state` as its history says; then `state` is what it leaves. Must
  // depend on nothing but the state and the operation's f, owner, process, shared, permits, value and token.
  virtual bool step(State& state, const Operation& operation) const = 0;
  virtual bool locks() const { return true; }    // about acquire and release; else read, write and cas
  virtual bool leased() const { return false; }  // holds end by themselves at valid_until
  // Not 0: in this state nothing but operations of that owner is legal. A hint: it only makes the search
  // faster.
  virtual Symbol only_owner(const State&) const { return 0; }
  virtual bool queues() const { return false; }   // acquires come as split_queued() says (operations.h)
  virtual bool resizes() const { return false; }  // about resize, too
  virtual bool owners() const { return true; }    // false: owner and process make no difference to a step
};

struct ModelKind {
  std::string_view name;   // "reentrant-mutex"
  std::string_view about;  // one line
  std::unique_ptr<Model> (*make)(const ModelOptions& options);
};

const std::vector<ModelKind>& all_models();  // in the order of `holdfast list models`
const ModelKind* find_model(std::string_view name);

// One each, for the registry (models/registry.cc).
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
