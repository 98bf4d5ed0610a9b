// The lock with the unlock that earlier articles show: GET, compare, DEL, as two commands. As published; do
// not use it in an application.
//
//   lock()    SET <key> <new UUID> NX PX <lease> every 100 ms until it succeeds
//   unlock()  GET <key>; if it is the thread's UUID: DEL <key>
//
// The flaw for which it is kept: between GET and DEL the lease can run out and somebody else be granted the
// lock; the DEL then removes the record of that one, and a third client gets in beside him. It needs only a
// delay (a pause, a slow network) that straddles the end of the lease. The others are those of
// lock_interface.h, of which this differs in unlock() only.
#pragma once

#include <optional>
#include <string>

#include "sim/historic/lock_interface/lock_interface.h"

namespace holdfast::historic {

class GetDelUnlock final : public LockInterface {
 public:
  using LockInterface::LockInterface;

 private:
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
};

}  // namespace holdfast::historic
