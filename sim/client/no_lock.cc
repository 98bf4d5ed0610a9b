#include "sim/client/no_lock.h"

#include <map>
#include <memory>
#include <string>

#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {
namespace {

class NoLock final : public Lock {
 public:
  NoLock(const LockSpaceOptions& options, std::string key) : options_(options), key_(std::move(key)) {}

  void lock() override { try_lock(); }
  bool try_lock_until(MonotonicTime, std::stop_token) override { return try_lock(); }
  bool try_lock() override {
    std::string& mine = holds_[runtime().task_id()];
    mine = options_.client.options().client_name + ":" + std::to_string(++count_);
    if (options_.lock.observer != nullptr) {
      options_.lock.observer->on_event(
          {.kind = LockEvent::Kind::acquired, .key = key_, .acquisition = mine, .sent_at = runtime().now()});
    }
    return true;
  }
  void release() override { holds_.erase(runtime().task_id()); }

  bool is_held_by_me() const override { return holds_.count(runtime().task_id()) > 0; }
  int hold_count() const override { return is_held_by_me() ? 1 : 0; }
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override {
    const auto found = holds_.find(runtime().task_id());
    return found == holds_.end() ? "" : found->second;
  }
  std::stop_token lost() const override { return {}; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return options_.client.runtime(); }

 private:
  const LockSpaceOptions options_;
  const std::string key_;
  std::map<TaskId, std::string> holds_;
  std::uint64_t count_ = 0;
};

}  // namespace

const LockKind& no_lock_kind() {
  static const LockKind kKind{
      .name = "no-lock",
      .about = "grants everything",
      .make =
          [](const LockSpaceOptions& options) {
            return keyed(
                [options](const std::string& key) { return std::make_shared<NoLock>(options, key); });
          },
  };
  return kKind;
}

}  // namespace holdfast::sim
