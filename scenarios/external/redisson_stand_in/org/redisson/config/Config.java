package org.redisson.config;

public class Config {
  public final SingleServerConfig single = new SingleServerConfig();
  public long watchdogTimeout = 30000;

  public SingleServerConfig useSingleServer() {
    return single;
  }

  public Config setLockWatchdogTimeout(long ms) {
    watchdogTimeout = ms;
    return this;
  }
}
