#include "spin_lock.h"

#include "reentrant_scripts.h"
#include "wire_lock.h"

namespace holdfast {

std::shared_ptr<Lock> SpinLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, reentrant_wire_polling(key, context_->options.fencing));
}

}  // namespace holdfast
