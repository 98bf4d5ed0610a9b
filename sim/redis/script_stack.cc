#include "sim/redis/script_stack.h"

#include <utility>

#include "lib/runtime/check.h"

namespace holdfast::sim::embedded {
namespace {
constexpr std::size_t kStackBytes = 8 * 1024 * 1024;
}  // namespace

ScriptStack::~ScriptStack() {
  HF_CHECK(body_ == nullptr, "a stack goes while something runs on it");
  if (!prepared_) return;
  caller_.adopt_thread();
  caller_.switch_to(own_);  // with no body: it ends
}

bool ScriptStack::run(std::function<void()> body) {
  HF_CHECK(body_ == nullptr, "one thing at a time runs on a stack");
  if (!prepared_) {
    own_.prepare(kStackBytes, &ScriptStack::enter, this);
    prepared_ = true;
  }
  body_ = std::move(body);
  return go_on();
}

bool ScriptStack::resume() {
  HF_CHECK(paused(), "nothing to go on with");
  return go_on();
}

bool ScriptStack::go_on() {
  caller_.adopt_thread();
  inside_ = true;
  caller_.switch_to(own_);
  inside_ = false;
  if (body_ != nullptr) return false;
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return true;
}

void ScriptStack::pause() { own_.switch_to(caller_); }

// Suspended here between two bodies; left when it goes on without one, so that the address sanitizer, which
// keeps a second stack for each fiber, lets go of that.
void ScriptStack::enter(void* argument) noexcept {
  auto& self = *static_cast<ScriptStack*>(argument);
  while (self.body_ != nullptr) {
    try {
      self.body_();
    } catch (...) {
      self.thrown_ = std::current_exception();
    }
    self.body_ = nullptr;
    self.own_.switch_to(self.caller_);
  }
  self.own_.exit_to(self.caller_);
}

}  // namespace holdfast::sim::embedded
