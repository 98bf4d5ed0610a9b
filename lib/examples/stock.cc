// A shop that never sells more than it has: units are counted down in Redis, read and written under one lock.
//
//   build/examples/stock redis://localhost:6379
//
// Four sellers share 20 units; run it on several machines at once and together they still sell 20. Each sale
// reads the stock, thinks, and writes it back: without the lock, two would sell the same unit. The watchdog
// renews the lock while a sale takes its time; release() throws LockLost when it could not, and then the sale
// must be looked at again. More URLs are the nodes of one replicated set. Exit: 0, 1 with one line on what
// went wrong, 64 bad arguments.
#include <holdfast/reentrant_lock.h>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// Sells one unit. False: none is left.
bool sell_one(holdfast::redis::ThreadedClient& redis, holdfast::Lock& lock) {
  holdfast::Guard guard(lock);
  const int left = std::stoi(redis->call({"GET", "example:stock"}).reply.text);
  if (left == 0) return false;
  std::this_thread::sleep_for(1ms);        // the customer types a credit card number
  if (!lock.is_held_by_me()) return true;  // too late: somebody else may be selling it
  redis->call({"SET", "example:stock", std::to_string(left - 1)});
  redis->call({"INCR", "example:sold"});
  guard.release();
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
      } catch (const std::exception& error) {  // LockLost, Unavailable, ...: of this sale alone
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
  } catch (const holdfast::redis::BadUrl& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
