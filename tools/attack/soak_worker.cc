// One process of tools/soak: its threads take one lock again and again, and each tells what it asks and
// what it is told, as a history in JSON lines. A line is one write(), so that a killed process leaves at most
// its last line unfinished.
//
//   soak_worker PORT KIND KEY NAME THREADS LEASE_MS HOLD_MS FILE [grants [forks]]
//
// Ends after so many grants (0: without end), else when it is killed. With `forks` it forks now and then,
// whatever its threads are doing: the child must be refused the lock that it inherited, takes it a few times
// with a client of its own, and writes the history NAMEf1.jsonl, ... beside FILE. Exit: 0, 64 bad arguments,
// 70 an exception that no lock should throw, 71 a child that could use what it inherited, or failed.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/redis/threaded_client.h"
#include "lib/redis/url.h"

namespace {

using namespace std::chrono_literals;

constexpr int kPermits = 3;  // of the semaphore; tools/soak knows it

std::int64_t ns_of(holdfast::MonotonicTime time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// What an event has beside its process, type and function.
struct Detail {
  std::string_view id = {}, error = {}, mode = {};
  std::optional<holdfast::MonotonicTime> valid_until = {};
  std::optional<std::uint64_t> token = {};
};

class Journal {
 public:
  Journal(holdfast::Runtime& runtime, const std::string& file, std::string key)
      : runtime_(runtime),
        file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
        key_(std::move(key)) {
    if (file_ < 0) throw std::runtime_error("cannot write " + file);
  }
  ~Journal() { ::close(file_); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void tell(std::string_view process, std::string_view type, std::string_view f, const Detail& detail) {
    tell(runtime_.now(), process, type, f, detail);
  }
  void tell(holdfast::MonotonicTime time, std::string_view process, std::string_view type, std::string_view f,
            const Detail& detail) {
    std::string line = "{\"time\":" + std::to_string(ns_of(time));
    const auto add = [&line](std::string_view name, std::string_view text) {
      if (!text.empty()) line.append(",\"").append(name).append("\":\"").append(text).append("\"");
    };
    add("process", process);
    add("type", type);
    add("f", f);
    add("key", key_);
    add("id", detail.id);
    add("mode", detail.mode);
    add("error", detail.error);
    if (detail.valid_until) line += ",\"valid_until\":" + std::to_string(ns_of(*detail.valid_until));
    if (detail.token) line += ",\"token\":" + std::to_string(*detail.token);
    line += "}\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(74);
  }

 private:
  holdfast::Runtime& runtime_;
  const int file_;
  const std::string key_;
};

// What the watchdog does and finds.
class Watcher final : public holdfast::LockObserver {
 public:
  Watcher(Journal& journal, const std::string& name) : journal_(journal), process_(name + "/watchdog") {}
  void on_event(const holdfast::LockEvent& event) noexcept override {
    using Kind = holdfast::LockEvent::Kind;
    if (event.kind == Kind::lost) {
      journal_.tell(process_, "ok", "lost", {.id = event.acquisition});
    } else if (event.kind == Kind::renewed && event.sent_at) {
      const Detail detail{.id = event.acquisition, .valid_until = event.valid_until};
      journal_.tell(*event.sent_at, process_, "invoke", "renew", {.id = event.acquisition});
      journal_.tell(process_, "ok", "renew", detail);
    }
  }

 private:
  Journal& journal_;
  const std::string process_;
};

struct Arguments {
  std::uint16_t port = 0;
  std::string kind, key, name, file;
  int threads = 0, grants = 0;
  bool forks = false;
  holdfast::Duration lease{}, hold{};
};

// The locks of one kind: one for writers, and one for readers where it has some.
struct Sides {
  std::shared_ptr<holdfast::Lock> owner, lock;
  holdfast::Lock* read = nullptr;
};

template <typename Kind, typename Options = holdfast::LockOptions>
std::function<Sides(holdfast::redis::Client&, const holdfast::LockOptions&, const std::string&)> kind_of(
    const std::function<Options(const holdfast::LockOptions&)>& options) {
  return
      [options](holdfast::redis::Client& client, const holdfast::LockOptions& lock, const std::string& key) {
        static std::list<Kind> locks;  // of this process, and of the one that it is a fork of
        const auto made = locks.emplace_back(client, options(lock)).obtain(key);
        Sides sides{.owner = made, .lock = made};
        if constexpr (requires { made->read(); }) sides.read = &made->read();
        return sides;
      };
}

const auto& kinds() {
  using holdfast::LockOptions;
  const std::function<LockOptions(const LockOptions&)> plain = [](const LockOptions& lock) { return lock; };
  const std::function<LockOptions(const LockOptions&)> fenced = [](LockOptions lock) {
    lock.fencing = true;
    return lock;
  };
  const std::function<holdfast::ReadWriteOptions(const LockOptions&)> read_write = [](LockOptions lock) {
    return holdfast::ReadWriteOptions{.lock = lock, .fair = false};
  };
  const std::function<holdfast::SemaphoreOptions(const LockOptions&)> permits = [](const LockOptions& lock) {
    return holdfast::SemaphoreOptions{.lock = lock, .permits = kPermits};
  };
  using Make = decltype(kind_of<holdfast::ReentrantLocks>(plain));
  static const std::map<std::string, Make, std::less<>> all = {
      {"reentrant", kind_of<holdfast::ReentrantLocks>(plain)},
      {"non-reentrant", kind_of<holdfast::NonReentrantLocks>(plain)},
      {"spin", kind_of<holdfast::SpinLocks>(plain)},
      {"fenced", kind_of<holdfast::FencedLocks>(plain)},
      {"fair", kind_of<holdfast::FairLocks>(fenced)},
      {"redisson", kind_of<holdfast::RedissonLocks>(plain)},
      {"read-write", kind_of<holdfast::ReadWriteLocks, holdfast::ReadWriteOptions>(read_write)},
      {"semaphore", kind_of<holdfast::Semaphores, holdfast::SemaphoreOptions>(permits)},
  };
  return all;
}

class Thread {
 public:
  Thread(const Arguments& asked, Journal& journal, Sides sides, int number)
      : asked_(asked),
        journal_(journal),
        sides_(std::move(sides)),
        name_(asked.name + "/" + std::to_string(number)),
        random_(std::random_device{}()) {}

  void run(std::atomic<int>& grants) {
    while (asked_.grants == 0 || grants < asked_.grants) {
      const bool reads = sides_.read != nullptr && draw(3) > 0;
      holdfast::Lock& lock = reads ? *sides_.read : *sides_.lock;
      const std::string_view mode = reads ? "read" : "";
      if (!enter(lock, mode)) continue;
      ++grants;
      std::this_thread::sleep_for(asked_.hold * draw(100) / 50);
      leave(lock, mode);
    }
  }

 private:
  std::int64_t draw(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }
  void tell(std::string_view type, std::string_view f, const Detail& detail) {
    journal_.tell(process(), type, f, detail);
  }
  std::string process() const { return name_ + (life_ == 0 ? "" : "#" + std::to_string(life_)); }

  bool enter(holdfast::Lock& lock, std::string_view mode) {
    tell("invoke", "acquire", {.mode = mode});
    try {
      const bool waits = draw(10) > 0;
      const bool granted = waits ? lock.try_lock_for(asked_.lease * draw(40) / 10) : lock.try_lock();
      if (!granted) return tell("fail", "acquire", {.mode = mode}), false;
      tell(
          "ok", "acquire",
          {.id = lock.acquisition(), .mode = mode, .valid_until = lock.valid_until(), .token = lock.token()});
      return true;
    } catch (const holdfast::LockError& error) {
      outcome("acquire", error, mode);
      std::this_thread::sleep_for(1ms);  // no server: not a hundred thousand lines of it
      return false;
    }
  }
  void leave(holdfast::Lock& lock, std::string_view mode) {
    const std::string id = lock.acquisition();
    tell("invoke", "release", {.id = id, .mode = mode});
    try {
      lock.release();
      tell("ok", "release", {.id = id, .mode = mode});
    } catch (const holdfast::LockLost&) {
      tell("fail", "release", {.id = id, .error = "lost", .mode = mode});
    } catch (const holdfast::LockError& error) {
      outcome("release", error, mode);
    }
  }
  // After an unknown outcome the thread goes on under another name.
  void outcome(std::string_view f, const holdfast::LockError& error, std::string_view mode) {
    tell(error.may_have_executed() ? "info" : "fail", f, {.error = "unavailable", .mode = mode});
    if (error.may_have_executed()) ++life_;
  }

  const Arguments& asked_;
  Journal& journal_;
  const Sides sides_;
  const std::string name_;
  int life_ = 0;
  std::mt19937_64 random_;
};

// What a process has: its client, and what it tells.
struct Life {
  Life(const Arguments& asked, const holdfast::redis::ClientOptions& options)
      : client(options), journal(client->runtime(), asked.file, asked.key), watcher(journal, asked.name) {}
  holdfast::redis::ThreadedClient client;
  Journal journal;
  Watcher watcher;
};

void run(const Arguments& asked);

// In the child. Exit status.
int live_as_fork(Arguments asked, const Sides& inherited, int number) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    static_cast<void>(inherited.lock->try_lock());
    std::cerr << "soak_worker: a fork was answered by the lock of its parent\n";
    return 71;
  } catch (const holdfast::Forked&) {
  }
  asked.name += "f" + std::to_string(number);
  asked.file = std::filesystem::path(asked.file).replace_filename(asked.name + ".jsonl");
  asked.threads = 1;
  asked.grants = 3;
  asked.forks = false;
  try {
    run(asked);
  } catch (const std::exception& error) {
    std::cerr << "soak_worker: a fork: " << error.what() << "\n";
    return 71;
  }
  return 0;
}

// Until the process is killed.
void go_on_forking(const Arguments& asked, const Sides& sides) {
  std::minstd_rand random{std::random_device{}()};
  for (int number = 1;; ++number) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
    const ::pid_t child = ::fork();
    if (child == 0) ::_exit(live_as_fork(asked, sides, number));
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) ::_exit(71);
  }
}

void run(const Arguments& asked) {
  holdfast::redis::ClientOptions options =
      holdfast::redis::options_from_urls(std::vector{"redis://127.0.0.1:" + std::to_string(asked.port)});
  options.command_timeout = 1s;
  options.wait_for_servers = true;
  options.client_name = asked.name;
  static std::list<Life>
      lives;  // this one, and of a fork its parent's; they end with the process, as do the locks
  Life& life = lives.emplace_back(asked, options);
  const Sides sides =
      kinds().at(asked.kind)(life.client, {.lease = asked.lease, .observer = &life.watcher}, asked.key);
  std::atomic<int> grants = 0;
  std::vector<std::jthread> threads;
  for (int number = 0; number < asked.threads; ++number) {
    threads.emplace_back([&, number] { Thread(asked, life.journal, sides, number).run(grants); });
  }
  if (asked.forks) go_on_forking(asked, sides);
}

template <typename Number>
bool number_of(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  Arguments asked;
  int lease_ms = 0, hold_ms = 0;
  const bool understood = given.size() >= 8 && given.size() <= 10 && number_of(given[0], asked.port) &&
                          kinds().contains(given[1]) && number_of(given[4], asked.threads) &&
                          number_of(given[5], lease_ms) && number_of(given[6], hold_ms) &&
                          (given.size() == 8 || number_of(given[8], asked.grants)) &&
                          (given.size() < 10 || given[9] == "forks");
  if (!understood) {
    std::cerr << "usage: soak_worker PORT KIND KEY NAME THREADS LEASE_MS HOLD_MS FILE [grants [forks]]; see "
                 "tools/soak\n";
    return 64;
  }
  asked.kind = given[1];
  asked.key = given[2];
  asked.name = given[3];
  asked.lease = std::chrono::milliseconds(lease_ms);
  asked.hold = std::chrono::milliseconds(hold_ms);
  asked.file = given[7];
  asked.forks = given.size() == 10;
  try {
    run(asked);
  } catch (const std::exception& error) {
    std::cerr << "soak_worker: " << error.what() << "\n";
    return 70;
  }
  return 0;
}
