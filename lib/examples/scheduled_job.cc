// A job that runs once a night, started by the clock of every machine: one runs it, the others let it be.
//
//   build/examples/scheduled_job redis://localhost:6379 2026-11-21
//
// Whoever gets the lock of that night runs the job and leaves a mark, so that a machine whose clock is late
// does not run it again. The lock alone would not do: it is free again when the job is done. The mark alone
// would not do either: a machine that died in the middle would have kept the job from ever running.
//
// If the lock is lost on the way (the machine slept, Redis was away), the job is told so through lost() and
// stops at the next page. That is no guarantee: a page may be under way while another machine begins. So the
// job must bear to be run twice: here each page is written under the name of its night, whoever writes it.
// A job that cannot bear that shows the lock's token() to what it writes to (fenced_lock.h).
//
// Exit: 0, 1 with one line on what went wrong, 64 bad arguments.
#include <holdfast/reentrant_lock.h>

#include <iostream>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

// The work, in pieces between which it can stop, each of which may be done twice. False: it was stopped.
bool write_report(holdfast::redis::ThreadedClient& redis, const std::string& night,
                  const std::stop_token& stop) {
  for (int page = 1; page <= 20; ++page) {
    if (stop.stop_requested()) return false;
    std::this_thread::sleep_for(5ms);
    const std::string number = std::to_string(page);
    redis->call({"HSET", "example:report:" + night + ":pages", number, "page " + number + " of " + night});
  }
  return true;
}

std::string run(std::string_view url, const std::string& night) {
  holdfast::redis::ClientOptions options = holdfast::redis::options_from_url(url);
  options.client_name = "scheduled-job-example";
  holdfast::redis::ThreadedClient redis(options);
  holdfast::ReentrantLocks locks(redis, {.lease = 30s});

  const std::string mark = "example:report:" + night + ":done";
  const auto lock = locks.obtain("example:report:" + night);
  if (!lock->try_lock()) return "runs on another machine";
  const holdfast::Guard guard(*lock, std::adopt_lock);  // unlocks, whatever happens
  if (redis->call({"EXISTS", mark}).reply.integer == 1) return "was done before";
  if (!write_report(redis, night, lock->lost())) {
    throw std::runtime_error("stopped: the lock was lost; the next run begins again");
  }
  redis->call({"SET", mark, "1", "EX", "604800"});  // the report is complete, whoever holds the lock now
  return "done here";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: scheduled_job URL NIGHT   (redis://[[user]:password@]host[:port][/db] 2026-11-21)"
              << std::endl;
    return 64;
  }
  try {
    std::cout << run(argv[1], argv[2]) << std::endl;
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
