#include "lib/lock/semaphore/semaphore.h"

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/semaphore/semaphore_scripts.h"

namespace holdfast {
namespace {

class WireSemaphore final : public Semaphore {
 public:
  WireSemaphore(std::shared_ptr<LockContext> context, const std::string& key, int permits)
      : lock_(context, semaphore_wire(key, permits, context->options)), context_(std::move(context)) {}

  void acquire(int permits) override { lock_.acquire_within({}, checked_permits(permits)); }
  bool try_acquire(int permits) override {
    const Duration timeout = context_->store.options().command_timeout;
    return lock_.acquire_within({.wait = false, .deadline = deadline_after(runtime().now(), timeout)},
                                checked_permits(permits));
  }
  bool try_acquire_until(MonotonicTime deadline, int permits, std::stop_token stop) override {
    if (deadline <= runtime().now()) return try_acquire(permits);
    return lock_.acquire_within({.deadline = deadline, .stop = std::move(stop)}, checked_permits(permits));
  }
  int free_permits() override { return holdfast::free_permits(*context_, lock_.wire()); }
  void set_permits(int permits) override { holdfast::set_permits(*context_, lock_.wire(), permits); }

  void lock() override { lock_.lock(); }
  bool try_lock() override { return lock_.try_lock(); }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop) override {
    return lock_.try_lock_until(deadline, std::move(stop));
  }
  bool try_lock_leased(Duration lease, MonotonicTime deadline, std::stop_token stop) override {
    return lock_.try_lock_leased(lease, deadline, std::move(stop));
  }
  void release() override { lock_.release(); }
  bool try_lock_by(MonotonicTime deadline) override { return lock_.try_lock_by(deadline); }
  void release_by(MonotonicTime deadline) override { lock_.release_by(deadline); }
  bool is_held_by_me() const override { return lock_.is_held_by_me(); }
  int hold_count() const override { return lock_.hold_count(); }
  std::optional<MonotonicTime> valid_until() const override { return lock_.valid_until(); }
  std::string acquisition() const override { return lock_.acquisition(); }
  std::stop_token lost() const override { return lock_.lost(); }
  std::optional<std::uint64_t> token() const override { return lock_.token(); }
  bool in_use() const override { return lock_.in_use(); }
  void extend(Duration lease) override { lock_.extend(lease); }
  std::string detach() override { return lock_.detach(); }
  bool adopt(const std::string& detached) override { return lock_.adopt(detached); }
  bool force_unlock() override { return lock_.force_unlock(); }
  const std::string& key() const noexcept override { return lock_.key(); }
  Runtime& runtime() const noexcept override { return lock_.runtime(); }

 private:
  WireLock lock_;
  const std::shared_ptr<LockContext> context_;
};

}  // namespace

Semaphores::Semaphores(redis::Client& client, SemaphoreOptions options)
    : Locks(client, std::move(options.lock)), permits_(checked_permits(options.permits)) {}

std::shared_ptr<Lock> Semaphores::make(const std::string& key) {
  return std::make_shared<WireSemaphore>(context_, key, permits_);
}

}  // namespace holdfast
