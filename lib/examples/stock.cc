// A shop that never sells more than it has: units are counted down in Redis, one sale at a time.
//
//   build/examples/stock redis://localhost:6379
//
// Four sellers share 20 units; run it on several machines at once and together they still sell 20. Each sale
// reads the stock, takes a while, and writes it back. Two things make that right:
//
// - The write is a compare-and-set: it takes effect only while the stock is what the sale has read. This is
//   what keeps the shop from overselling, whatever becomes of the lock.
// - The lock lets one sale in at a time, so that no customer waits for a sale that comes to nothing.
//
// The lock alone would not do, and asking is_held_by_me() before the write would not either: a seller that is
// paused between the question and the write (the machine sleeps, the process is swapped out) wakes up after
// its lease, and writes beside the next holder. A failover of Redis can lose a grant as well. Where the
// resource cannot compare, let it refuse old fencing tokens instead, from the first read on (fenced_lock.h).
//
// More URLs are the nodes of one replicated set. Exit: 0, 1 with one line on what went wrong, 64 bad
// arguments.
#include <holdfast/reentrant_lock.h>

#include <atomic>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// Sells one unit if the stock is still ARGV[1]. Returns 1: sold, 0: it has changed.
constexpr const char* kSell = R"(
  if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('decr', KEYS[1])
  redis.call('incr', KEYS[2])
  return 1)";

// False: none is left. True: look again; one was sold, or somebody else was faster.
bool sell_one(holdfast::redis::ThreadedClient& redis, holdfast::Lock& lock) {
  const holdfast::Guard guard(lock);  // a loss is no error here: the write does not rely on the lock
  const std::string left = redis->call({"GET", "example:stock"}).reply.text;
  if (left == "0") return false;
  std::this_thread::sleep_for(1ms);  // the customer types a credit card number
  redis->call({"EVAL", kSell, "2", "example:stock", "example:sold", left});
  return true;
}

void run(const std::vector<std::string>& urls) {
  holdfast::redis::ClientOptions options = holdfast::redis::options_from_urls(urls);
  options.client_name = "stock-example";
  holdfast::redis::ThreadedClient redis(options);
  holdfast::ReentrantLocks locks(redis, {.lease = 10s});
  const auto lock = locks.obtain("example:stock:lock");

  redis->call({"SET", "example:stock", "20", "NX"});
  std::atomic<int> failed = 0;
  std::vector<std::thread> sellers;
  for (int number = 0; number < 4; ++number) {
    sellers.emplace_back([&] {
      try {
        while (sell_one(redis, *lock)) {
        }
      } catch (const std::exception& error) {  // no server, a wrong password, ...
        std::cerr << error.what() << std::endl;
        ++failed;
      }
    });
  }
  for (std::thread& seller : sellers) seller.join();
  if (failed > 0) throw std::runtime_error(std::to_string(failed) + " sellers gave up");
  std::cout << "sold " << redis->call({"GET", "example:sold"}).reply.text << ", left "
            << redis->call({"GET", "example:stock"}).reply.text << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: stock URL...   (redis://[[user]:password@]host[:port][/db])" << std::endl;
    return 64;
  }
  try {
    run({argv + 1, argv + argc});
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
