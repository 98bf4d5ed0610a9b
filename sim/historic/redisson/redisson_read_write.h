// Redisson's RReadWriteLock as of 3.13.6, as published. Do not use it in an application.
//
//   state         HASH <key> { mode: read | write, "uuid:threadId": reads, "uuid:threadId:write": writes },
//                 its PTTL the longest lease; a STRING "{<key>}:uuid:threadId:rwlock_timeout:<n>" with PX
//                 lease for the n-th read hold of a thread; channel "redisson_rwlock:{<key>}"
//   read          free: mode read, count 1, timeout 1. Read by anybody, or written by me: one more, its
//                 timeout, and the PTTL grows to the lease if it is shorter. Else the PTTL
//   read unlock   gone: PUBLISH "0", 1; not mine: nil; one less, its timeout goes. Others hold it: the PTTL
//                 is the longest of all timeouts, 0. Else DEL, PUBLISH "0", 1
//   write         free: mode write, count 1. Mine: one more, and the PTTL grows *by* the lease. Else the PTTL
//   write unlock  gone: PUBLISH "1", 1; not mine: nil; one less, PEXPIRE, 0. The last: DEL, PUBLISH "1" (all
//                 that wait); when I read as well, mode read instead, and no message. 1
//   renew         write: as redisson_reentrant.h. read: mine: PEXPIRE of the lock and of the timeouts of all
//                 owners. One timer per name: the side that came first renews, for both
//   waiting       as redisson_lock.h
//
// Its flaws are kept, this is what it is here for:
//   - nobody looks for writers that wait: as long as readers come, none gets in;
//   - a reader that wants to write waits for itself: until its lease ends, or for ever where it is renewed;
//   - each re-entry of a writer adds a lease to the PTTL: when it dies, the others wait for all of them;
//   - a writer that goes on as a reader tells nobody: readers that could come in sleep until the PTTL that
//     they saw, and its read hold is not renewed, for the timer of the name looks for the writer;
//   - a reader that died is kept alive by every renewal of any other reader;
//   - an unlock of a lock that is gone succeeds: who has lost it is not told;
//   - what is said of scripts, WAIT, watchdog and messages in redisson_reentrant.h.
// Deviations: none but those of redisson_lock.h.
#pragma once

#include <memory>
#include <string>

#include "sim/historic/redisson/redisson_lock.h"

namespace holdfast::historic {

extern const redis::Script kRedissonReadAcquire, kRedissonReadUnlock, kRedissonReadRenew,
    kRedissonWriteAcquire, kRedissonWriteUnlock;

class RedissonReadLock final : public RedissonLock {
 public:
  RedissonReadLock(std::shared_ptr<Redisson> redisson, std::string key);
  std::string_view mode() const noexcept override { return "read"; }

 private:
  Told ask(Request& request) override;
  redis::Answer give_back(const std::string& owner) override;
  redis::Answer force() override;
  std::string channel(const std::string&) const override { return channel_; }
  RedissonRenewals::Renew renewal() const override;
  std::string timeouts_of(const std::string& owner) const {
    return braced_ + ":" + owner + ":rwlock_timeout";
  }

  const std::string channel_, braced_;
};

class RedissonWriteLock final : public RedissonLock {
 public:
  RedissonWriteLock(std::shared_ptr<Redisson> redisson, std::string key);
  std::string_view mode() const noexcept override { return "write"; }

 private:
  Told ask(Request& request) override;
  redis::Answer give_back(const std::string& owner) override;
  redis::Answer force() override;
  std::string channel(const std::string&) const override { return channel_; }
  std::string owner_name(TaskId thread) const override;
  RedissonRenewals::Renew renewal() const override;

  const std::string channel_;
};

// Both sides of one key.
class RedissonReadWrite {
 public:
  RedissonReadWrite(const std::shared_ptr<Redisson>& redisson, const std::string& key)
      : read_(redisson, key), write_(redisson, key) {}
  RedissonReadLock& read() { return read_; }
  RedissonWriteLock& write() { return write_; }

 private:
  RedissonReadLock read_;
  RedissonWriteLock write_;
};

}  // namespace holdfast::historic
