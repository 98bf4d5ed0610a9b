#include "spin_lock.h"

#include "reentrant_scripts.h"
#include "wire_lock.h"

namespace holdfast {

std::shared_ptr<Lock> SpinLocks::make(const std::string& key) {
  Wire wire = reentrant_wire(key, context_->options.fencing);
  wire.waiting = Wire::Waiting::back_off;
  return std::make_shared<WireLock>(context_, std::move(wire));
}

}  // namespace holdfast
