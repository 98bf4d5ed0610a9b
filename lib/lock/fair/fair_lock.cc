#include "lib/lock/fair/fair_lock.h"

#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"

namespace holdfast {

std::shared_ptr<Lock> FairLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, fair_wire(key, context_->options));
}

}  // namespace holdfast
