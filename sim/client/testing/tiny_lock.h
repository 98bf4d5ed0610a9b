// TinyLock: the smallest lock on several independent servers, for tests of what drives locks: a record on
// each of them, a majority grants, polling, no renewal. Its tokens come from the first server, it tells that
// it queues, has a read side (which excludes all the same) and counts permits (one).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/redis/error.h"
#include "sim/client/lock_kind.h"

namespace holdfast::sim {

class TinyLock final : public Lock {
 public:
  TinyLock(const LockSpaceOptions& options, std::string key, std::string mode)
      : options_(options), key_(std::move(key)), mode_(std::move(mode)) {}

  void lock() override {
    while (!try_lock()) runtime().sleep_for(std::chrono::milliseconds(5));
  }
  bool try_lock_until(MonotonicTime deadline, std::stop_token) override {
    while (!try_lock()) {
      if (runtime().now() >= deadline) return false;
      runtime().sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  bool try_lock() override {
    // The same for each acquisition of a task, as in many designs.
    const std::string owner =
        options_.client.options().client_name + ":" + std::to_string(runtime().task_id());
    const MonotonicTime sent_at = runtime().now();
    tell({.kind = LockEvent::Kind::queued, .key = key_, .acquisition = owner});
    const std::string lease = std::to_string(options_.lock.lease / std::chrono::milliseconds(1));
    std::size_t granted = 0;
    for (redis::Client* const node : options_.nodes) {
      granted += ask(*node, {"SET", key_, owner, "NX", "PX", lease}) == "OK" ? 1 : 0;
    }
    if (2 * granted <= options_.nodes.size()) {
      for (redis::Client* const node : options_.nodes) give_back(*node, owner);
      return false;
    }
    owner_ = owner;
    until_ = sent_at + options_.lock.lease;
    if (options_.lock.fencing)
      token_ =
          static_cast<std::uint64_t>(options_.nodes.front()->call({"INCR", key_ + ":token"}).reply.integer);
    tell({.kind = LockEvent::Kind::acquired,
          .key = key_,
          .acquisition = owner_,
          .node = "",
          .sent_at = sent_at});
    return true;
  }
  void release() override {
    for (redis::Client* const node : options_.nodes) give_back(*node, owner_);
    owner_.clear();
    token_.reset();
  }

  bool is_held_by_me() const override { return !owner_.empty(); }
  int hold_count() const override { return owner_.empty() ? 0 : 1; }
  std::optional<MonotonicTime> valid_until() const override { return until_; }
  std::string acquisition() const override { return owner_; }
  std::stop_token lost() const override { return {}; }
  std::optional<std::uint64_t> token() const override { return token_; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return options_.client.runtime(); }
  std::string_view mode() const noexcept override { return mode_; }

 private:
  void tell(const LockEvent& event) const { options_.lock.observer->on_event(event); }
  static std::string ask(redis::Client& node, std::initializer_list<std::string_view> command) {
    try {
      return std::string(node.call(command).reply.text);
    } catch (const redis::Error&) {
      return "";
    }
  }
  void give_back(redis::Client& node, const std::string& owner) const {
    if (ask(node, {"GET", key_}) == owner) ask(node, {"DEL", key_});
  }

  const LockSpaceOptions options_;
  std::string key_, mode_, owner_;
  std::optional<MonotonicTime> until_;
  std::optional<std::uint64_t> token_;
};

class TinySpace final : public LockSpace {
 public:
  explicit TinySpace(const LockSpaceOptions& options) : options_(options) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override { return obtain(key, "write"); }
  std::shared_ptr<Lock> obtain_shared(const std::string& key) override { return obtain(key, "read"); }

 private:
  std::shared_ptr<Lock> obtain(const std::string& key, const std::string& mode) {
    std::shared_ptr<TinyLock>& lock = locks_[key + "/" + mode];
    if (!lock) lock = std::make_shared<TinyLock>(options_, key, mode);
    return lock;
  }
  const LockSpaceOptions options_;
  std::map<std::string, std::shared_ptr<TinyLock>> locks_;
};

// REQUIRES: one thread in each client (a TinyLock is for one task).
inline const LockKind& tiny_lock_kind() {
  static const LockKind kKind{
      .name = "tiny",
      .about = "for tests",
      .shared = true,
      .counts_permits = true,
      .quorum = true,
      .fair = true,
      .tokens = true,
      .make = [](const LockSpaceOptions& options) -> std::unique_ptr<LockSpace> {
        return std::make_unique<TinySpace>(options);
      },
  };
  return kKind;
}

}  // namespace holdfast::sim
