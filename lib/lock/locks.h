// Locks: the locks of one kind, of one process, on one Redis. Each kind has a class of its own that derives
// from this (ReentrantLocks, FairLocks, ...).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "../redis/client.h"
#include "lock.h"

namespace holdfast {

struct LockContext;
class Store;

class Locks {
 public:
  virtual ~Locks();
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

  // The lock of `key`: the same object as long as anybody has it. Throws std::invalid_argument for an empty
  // key. Any task may call it; O(log locks).
  std::shared_ptr<Lock> obtain(const std::string& key);
  Runtime& runtime() const noexcept;  // that of the client

 protected:
  // `client`, and the observer in `options`, outlive this object and every lock obtained from it. Throws
  // std::invalid_argument when the options make no sense.
  Locks(redis::Client& client, LockOptions options);
  // On another store than one Redis.
  Locks(std::unique_ptr<Store> store, LockOptions options);
  // A new object, for obtain().
  virtual std::shared_ptr<Lock> make(const std::string& key) = 0;

  const std::shared_ptr<LockContext> context_;  // what all of them share

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<Lock>> locks_;
  std::size_t sweep_at_ = 64;  // forget expired entries when the map has grown to this
};

}  // namespace holdfast
