package org.redisson.config;

public class SingleServerConfig {
  public String address = "";
  public int timeout = 3000;

  public SingleServerConfig setAddress(String to) {
    address = to;
    return this;
  }

  public SingleServerConfig setTimeout(int ms) {
    timeout = ms;
    return this;
  }

  public SingleServerConfig setConnectTimeout(int ms) {
    return this;
  }

  public SingleServerConfig setConnectionMinimumIdleSize(int size) {
    return this;
  }

  public SingleServerConfig setConnectionPoolSize(int size) {
    return this;
  }

  public SingleServerConfig setRetryAttempts(int attempts) {
    return this;
  }
}
