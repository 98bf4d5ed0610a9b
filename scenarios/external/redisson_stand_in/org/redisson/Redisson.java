// Stands for Redisson where its jar is not at hand: the interfaces that redisson_lock.java uses, over the scripts of this
// project's re-implementation of Redisson 3.13 (sim/historic/redisson), which are in its jar. For tests, no Redisson: no
// watchdog, no waiting, one connection. redisson_lock_test.py makes the jar.
package org.redisson;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Redisson implements RedissonClient {
  private final Config config;
  private final String id = UUID.randomUUID().toString();
  private Socket socket;
  private BufferedReader answers;

  private Redisson(Config config) {
    this.config = config;
  }

  public static RedissonClient create(Config config) {
    return new Redisson(config);
  }

  @Override
  public RLock getLock(String name) {
    return new Lock(name);
  }

  @Override
  public void shutdown() {
    disconnect();
  }

  private void disconnect() {
    try {
      if (socket != null) socket.close();
    } catch (IOException error) {
      // It is gone in any case.
    }
    socket = null;
  }

  // The answer to a script: a number, or null. Throws RuntimeException; the next call connects anew then.
  private Long run(String script, String[] keys, Object... args) {
    try {
      if (socket == null) {
        String[] at = config.single.address.substring("redis://".length()).split(":");
        socket = new Socket();
        socket.connect(new InetSocketAddress(at[0], Integer.parseInt(at[1])), config.single.timeout);
        socket.setSoTimeout(config.single.timeout);
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
      }
      StringBuilder request = new StringBuilder("*" + (3 + keys.length + args.length) + "\r\n");
      String text = new String(Redisson.class.getResourceAsStream("/" + script).readAllBytes(), StandardCharsets.UTF_8);
      for (String word : new String[] {"EVAL", text, String.valueOf(keys.length)}) put(request, word);
      for (String key : keys) put(request, key);
      for (Object arg : args) put(request, String.valueOf(arg));
      socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
      String answer = answers.readLine();
      if (answer == null) throw new IOException("the connection was closed");
      if (answer.startsWith("-")) throw new IOException(answer);
      return answer.startsWith(":") ? Long.valueOf(answer.substring(1)) : null;
    } catch (IOException error) {
      disconnect();
      throw new IllegalStateException(error);
    }
  }

  private static void put(StringBuilder request, String word) {
    request.append("$" + word.getBytes(StandardCharsets.UTF_8).length + "\r\n" + word + "\r\n");
  }

  private class Lock implements RLock {
    private final String name;

    Lock(String name) {
      this.name = name;
    }

    private String owner() {
      return id + ":" + Thread.currentThread().getId();
    }

    @Override
    public boolean tryLock(long waitTime, long leaseTime, TimeUnit unit) {
      return run("redisson_acquire.lua", new String[] {name}, unit.toMillis(leaseTime), owner()) == null;
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) {
      return tryLock(time, config.watchdogTimeout, TimeUnit.MILLISECONDS);
    }

    @Override
    public void unlock() {
      String[] keys = {name, "redisson_lock__channel:{" + name + "}"};
      if (run("redisson_unlock.lua", keys, 0, config.watchdogTimeout, owner()) == null)
        throw new IllegalMonitorStateException("not locked by " + owner());
    }
  }
}
