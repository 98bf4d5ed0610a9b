// An old system that bears three requests at a time, and any number of machines that want to ask it: a
// semaphore.
//
//   build/examples/rate_of_work redis://localhost:6379
//
// Ten workers of this process, and those of every other process that runs this, share three permits. A worker
// that dies gives its permit back when its lease runs out. A worker that is paused for longer than that loses
// it as well, and when it wakes up there are four for a moment: three is what the old system should see, not
// what it may rely on. Prints how many there were at once in this process, at most.
//
// Exit: 0, 1 with one line on what went wrong, 64 bad arguments.
#include <holdfast/semaphore.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

void run(std::string_view url) {
  holdfast::redis::ClientOptions options = holdfast::redis::options_from_url(url);
  options.client_name = "rate-of-work-example";
  holdfast::redis::ThreadedClient redis(options);
  holdfast::Semaphores semaphores(redis, {.lock = {.lease = 10s}, .permits = 3});
  const auto permits = semaphores.obtain("example:old-system");

  std::atomic<int> inside = 0, most = 0, done = 0;
  const auto ask_old_system = [&] {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::sleep_for(5ms);
    --inside;
    ++done;
  };
  std::vector<std::thread> workers;
  for (int number = 0; number < 10; ++number) {
    workers.emplace_back([&] {
      try {
        for (int request = 0; request < 3; ++request) {
          if (!permits->try_acquire_for(30s)) throw std::runtime_error("no permit within 30 s");
          ask_old_system();
          permits->release();
        }
      } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (done < 30) throw std::runtime_error("only " + std::to_string(done) + " of 30 requests were made");
  std::cout << done << " requests, at most " << most << " at once" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: rate_of_work URL   (redis://[[user]:password@]host[:port][/db])" << std::endl;
    return 64;
  }
  try {
    run(argv[1]);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
