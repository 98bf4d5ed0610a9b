package org.redisson.api;

import java.util.concurrent.TimeUnit;

public interface RLock {
  boolean tryLock(long waitTime, long leaseTime, TimeUnit unit) throws InterruptedException;

  boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

  void unlock();
}
