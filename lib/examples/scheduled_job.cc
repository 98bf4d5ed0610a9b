// A job that runs once a night, started by the clock of every machine: one runs it, the others let it be.
//
//   build/examples/scheduled_job redis://localhost:6379 2026-11-21
//
// Whoever gets the lock of that night runs the job and leaves a mark, so that a machine whose clock is late
// does not run it again. The lock alone would not do: it is free again when the job is done. The mark alone
// would not do either: a machine that died in the middle would have kept the job from ever running. If the
// lock is lost on the way (the machine slept, Redis was away), the job is told so through lost(), and stops.
// Exit: 0, 1 with one line on what went wrong, 64 bad arguments.
#include <holdfast/reentrant_lock.h>

#include <iostream>
#include <stop_token>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

// The work, in pieces between which it can stop. False: it was stopped.
bool write_report(const std::stop_token& stop) {
  for (int page = 0; page < 20; ++page) {
    if (stop.stop_requested()) return false;
    std::this_thread::sleep_for(5ms);
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
  std::string outcome;
  if (redis->call({"EXISTS", mark}).reply.integer == 1) {
    outcome = "was done before";
  } else if (write_report(lock->lost())) {
    redis->call({"SET", mark, "1", "EX", "604800"});
    outcome = "done here";
  } else {
    throw std::runtime_error("stopped: the lock was lost; the next run begins again");
  }
  lock->unlock();  // throws LockLost if another machine may have begun meanwhile
  return outcome;
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
  } catch (const holdfast::redis::BadUrl& error) {
    std::cerr << error.what() << std::endl;
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
