package org.redisson.api;

public interface RedissonClient {
  RLock getLock(String name);

  void shutdown();
}
