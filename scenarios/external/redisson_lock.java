// Redisson's RLock, unchanged, as a client of Holdfast: a flash sale under it. redisson_lock.sh starts it.
// Arguments: LOW..HIGH, milliseconds between read and write; `watchdog`: without a lease of its own, so that Redisson
// renews it (absent: the scenario's lease is given, and nobody renews). What it prints: checker/README.md, "What a
// program tells".
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

class RedissonLock {
  static final String KEY = System.getenv("HOLDFAST_KEYS").split(",")[0];
  static final long LEASE_MS = Long.parseLong(System.getenv("HOLDFAST_LEASE_MS"));
  static final PrintStream STDOUT = new PrintStream(System.out, true);  // a line that stays in a buffer is told too late

  static void tell(String type, String f, String more) {
    STDOUT.print("{\"type\":\"" + type + "\",\"f\":\"" + f + "\",\"key\":\"" + KEY + "\"" + more + "}\n");
    STDOUT.flush();
  }

  // The protected resource.
  static class Stock {
    final Socket socket;
    final BufferedReader answers;

    Stock() throws Exception {
      String[] at = System.getenv("HOLDFAST_EFFECTS").split(":");
      socket = new Socket(at[0], Integer.parseInt(at[1]));
      answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
    }

    String ask(String line) throws Exception {
      socket.getOutputStream().write((line + "\n").getBytes());
      return answers.readLine().trim();
    }
  }

  static RedissonClient connect() throws Exception {
    String url = System.getenv("HOLDFAST_REDIS_URL");  // redis://HOST:PORT/0
    Config config = new Config();
    config.setLockWatchdogTimeout(LEASE_MS);
    config.useSingleServer()
        .setAddress(url.substring(0, url.lastIndexOf('/')))
        .setConnectionMinimumIdleSize(1)
        .setConnectionPoolSize(4)
        .setConnectTimeout(2000)
        .setTimeout(2000)
        .setRetryAttempts(3);
    return Redisson.create(config);
  }

  // Until it is granted; what Redis' failure leaves unknown is told as that.
  static void acquire(RLock lock, boolean watchdog) throws Exception {
    while (true) {
      tell("invoke", "acquire", "");
      try {
        while (true) {
          long sent = System.nanoTime();
          if (watchdog ? lock.tryLock(0, TimeUnit.MILLISECONDS) : lock.tryLock(0, LEASE_MS, TimeUnit.MILLISECONDS)) {
            double left = LEASE_MS - (System.nanoTime() - sent) / 1e6;
            tell("ok", "acquire", ",\"valid_for_ms\":" + Math.max(0, (long) left));
            return;
          }
          Thread.sleep(20);
        }
      } catch (RuntimeException error) {
        tell("info", "acquire", ",\"error\":\"" + error.getClass().getSimpleName() + "\"");
        Thread.sleep(50);
      }
    }
  }

  static void release(RLock lock) {
    tell("invoke", "release", "");
    try {
      lock.unlock();
      tell("ok", "release", "");
    } catch (IllegalMonitorStateException error) {
      tell("fail", "release", ",\"error\":\"not-owner\"");
    } catch (RuntimeException error) {
      tell("info", "release", ",\"error\":\"" + error.getClass().getSimpleName() + "\"");
    }
  }

  public static void main(String[] arguments) throws Exception {
    String[] range = (arguments.length > 0 ? arguments[0] : "300..600").split("\\.\\.");
    int low = Integer.parseInt(range[0]), high = Integer.parseInt(range[1]);
    boolean watchdog = arguments.length > 1 && arguments[1].equals("watchdog");
    Random random = new Random(Long.parseLong(System.getenv("HOLDFAST_SEED")));
    RedissonClient redisson = connect();
    RLock lock = redisson.getLock(KEY);
    Stock stock = new Stock();
    for (int left = 1; left > 0;) {
      acquire(lock, watchdog);
      left = Integer.parseInt(stock.ask("READ"));
      if (left > 0) {
        Thread.sleep(low + random.nextInt(high - low + 1));
        stock.ask("SELL " + (left - 1));
      }
      release(lock);
      Thread.sleep(40 + random.nextInt(40));  // who asks at once is first, for ever
    }
    redisson.shutdown();
    System.exit(0);
  }
}
