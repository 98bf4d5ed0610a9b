// ForeignLock: what locks of other engines have in common: who of this process' tasks holds it, what the
// observer is told, what a loss means to the holder. An engine says how it is asked for and given back.
//
// Not reentrant. For tasks of one thread: fibers of a world.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/lock/api/lock.h"
#include "sim/client/lock_kind.h"

namespace holdfast::sim {

class ForeignLock : public Lock {
 public:
  void lock() override {
    if (!acquire({.deadline = kNever, .waits = true}))
      fail<Rejected>("refused, and not to be waited for", "", false);
  }
  bool try_lock() override { return acquire({}); }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    return acquire({.deadline = deadline, .stop = std::move(stop), .waits = true});
  }
  void release() override;

  bool is_held_by_me() const override { return mine() != nullptr && !mine()->lost; }
  int hold_count() const override { return mine() == nullptr ? 0 : 1; }
  std::optional<MonotonicTime> valid_until() const override {
    return is_held_by_me() ? mine()->grant.valid_until : std::nullopt;
  }
  std::string acquisition() const override { return mine() == nullptr ? "" : mine()->grant.acquisition; }
  std::stop_token lost() const override {
    return mine() == nullptr ? std::stop_token() : mine()->told.get_token();
  }
  std::optional<std::uint64_t> token() const override {
    return is_held_by_me() ? mine()->grant.token : std::nullopt;
  }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return options_.client.runtime(); }

 protected:
  ForeignLock(LockSpaceOptions options, std::string key)
      : options_(std::move(options)), key_(std::move(key)) {}

  struct Question {
    MonotonicTime deadline{};
    std::stop_token stop{};
    bool waits = false;  // until the deadline; else one answer is enough
  };
  struct Grant {
    std::string acquisition;  // new_acquisition()
    std::string node;         // who granted it
    std::optional<MonotonicTime> sent_at =
        std::nullopt;  // where its lease is counted from; nullopt: it has none
    std::optional<MonotonicTime> valid_until = std::nullopt;  // likewise
    std::optional<std::uint64_t> token = std::nullopt;
    std::shared_ptr<void> kept_by = nullptr;  // what it hangs on; gone when the hold is over
  };
  // [parks] nullopt: somebody else has it, until the end of the patience. Calls waiting() before it waits.
  // Throws LockError. Between the moment at which it knows of the grant and its return nothing parks.
  virtual std::optional<Grant> ask(const Question& question) = 0;
  // [parks] Throws LockError.
  virtual void give_back(Grant& grant) = 0;

  // To be called by an engine, on any task. Nothing happens when the hold is over already.
  void lose(const std::string& acquisition, std::string_view why);
  void renewed(const std::string& acquisition, MonotonicTime sent_at, MonotonicTime valid_until,
               std::string_view node);
  // [parks] By the destructor of the derived class: what keeps a hold may use it.
  void forget_holds() { mine_.clear(); }

  void waiting() { tell({.kind = LockEvent::Kind::waiting}); }
  void tell(LockEvent event) const;
  std::string new_acquisition() { return new_acquisition(runtime()); }
  static std::string new_acquisition(Runtime& runtime);
  template <class E>
  [[noreturn]] void fail(std::string_view what, const std::string& node, bool may_have_executed) const {
    throw E("lock '" + key_ + "': " + std::string(what), key_, node, may_have_executed);
  }

  const LockSpaceOptions& options() const { return options_; }

 private:
  struct Mine {
    Grant grant;
    std::stop_source told = {};
    bool lost = false;
    std::string why = {};
  };
  bool acquire(const Question& question);
  const Mine* mine() const;
  Mine* find(const std::string& acquisition);

  const LockSpaceOptions options_;
  const std::string key_;
  std::map<TaskId, Mine> mine_;
};

}  // namespace holdfast::sim
