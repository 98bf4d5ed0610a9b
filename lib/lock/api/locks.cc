#include "lib/lock/api/locks.h"

#include <algorithm>
#include <mutex>

#include "lib/lock/engine/checked_options.h"
#include "lib/lock/engine/lock_context.h"

namespace holdfast {

Locks::Locks(redis::Client& client, LockOptions options)
    : context_(std::make_shared<LockContext>(make_store(client, options), options)),
      mutex_(client.runtime()) {}

Locks::Locks(std::unique_ptr<Store> store, LockOptions options)
    : context_(std::make_shared<LockContext>(std::move(store), std::move(options))),
      mutex_(context_->runtime) {}

Locks::~Locks() = default;

Runtime& Locks::runtime() const noexcept { return context_->runtime; }

std::shared_ptr<Lock> Locks::obtain(const std::string& key) {
  checked_key(key);
  context_->check_process(key);
  const std::scoped_lock guard(mutex_);
  std::weak_ptr<Lock>& entry = locks_[key];
  std::shared_ptr<Lock> lock = entry.lock();
  if (!lock) {
    lock = make(key);
    entry = lock;
  }
  if (locks_.size() >= sweep_at_) {
    std::erase_if(locks_, [](const auto& known) { return known.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * locks_.size());
  }
  return lock;
}

}  // namespace holdfast
