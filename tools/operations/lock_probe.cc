// One process with one lock, driven line by line: what tools/operations/measure looks at from outside.
//
//   lock_probe KIND KEY URL... [--lease MS] [--permits N] [--replicas N] [--replica-timeout MS]
//              [--command-timeout MS] [--strict] [--no-renew] [--members HOST:PORT,...]
//   lock_probe --defaults          the default options, in ms, as JSON
//
// Several URLs: of `redlock` one a server, of all others the nodes of one replicated set. Requests come on
// standard input, for each one line of answer:
//
//   take | take MS | lock          try_lock(), try_lock_for(), lock(): granted, refused
//   give                           release(): given
//   renewed                        waits until the watchdog has renewed the hold: renewed
//   lost                           waits until the loss is told: lost MONOTONIC_NS
//   extend MS | detach | adopt TEXT | force      as Lock has them
//   free | permits N               free_permits(), set_permits()
//   warnings                       what the client warned of: warnings TEXT
//
// Of a latch take is set(2), take MS is await_for(), give is count_down(). Of permit-semaphore give and
// extend go by its id. An exception is "error TYPE TEXT". The end of the input ends the process.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/redis/threaded_client.h"
#include "lib/redis/url.h"

namespace {

using std::chrono::milliseconds;

struct BadArguments : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Asked {
  std::string kind, key, warnings;
  std::vector<std::string> urls;
  holdfast::LockOptions lock;
  holdfast::redis::ClientOptions client;
  int permits = 1;
};

// What a kind does with the requests that are not the same for all.
struct Driver {
  std::function<bool(std::optional<milliseconds>)> take;
  std::function<void()> give;
  std::function<void(milliseconds)> extend;
  std::function<int()> free = {};
  std::function<void(int)> permits = {};
  holdfast::Lock* lock = nullptr;  // whose hold it is; of latch and permit-semaphore none
};

// Counts what the watchdog does.
class Watcher final : public holdfast::LockObserver {
 public:
  explicit Watcher(holdfast::Runtime& runtime) : runtime_(runtime), mutex_(runtime), changed_(runtime) {}
  void on_event(const holdfast::LockEvent& event) noexcept override {
    const std::scoped_lock guard(mutex_);
    if (event.kind == holdfast::LockEvent::Kind::renewed) ++renewals_;
    if (event.kind == holdfast::LockEvent::Kind::lost) lost_at_ = runtime_.now();
    changed_.notify_all();
  }
  void await_renewal() {
    std::unique_lock guard(mutex_);
    const int before = renewals_;
    changed_.wait_until(guard, holdfast::kNever, [&] { return renewals_ > before; });
  }
  holdfast::MonotonicTime await_loss() {
    std::unique_lock guard(mutex_);
    changed_.wait_until(guard, holdfast::kNever, [&] { return lost_at_.has_value(); });
    return *lost_at_;
  }

 private:
  holdfast::Runtime& runtime_;
  holdfast::Mutex mutex_;
  holdfast::Condition changed_;
  int renewals_ = 0;
  std::optional<holdfast::MonotonicTime> lost_at_;
};

Driver driver_of(holdfast::Lock& lock) {
  return {.take =
              [&lock](std::optional<milliseconds> wait) {
                return wait ? lock.try_lock_for(*wait) : lock.try_lock();
              },
          .give = [&lock] { lock.release(); },
          .extend = [&lock](milliseconds lease) { lock.extend(lease); },
          .free = {},
          .permits = {},
          .lock = &lock};
}

// The locks of one kind, and what is kept alive for them.
class Locks {
 public:
  Locks(const Asked& asked, std::list<holdfast::redis::ThreadedClient>& clients)
      : asked_(asked), clients_(clients) {}

  Driver make() {
    using Maker = std::function<Driver()>;
    const std::map<std::string, Maker> kinds = {
        {"reentrant", [&] { return of<holdfast::ReentrantLocks>(asked_.lock); }},
        {"non-reentrant", [&] { return of<holdfast::NonReentrantLocks>(asked_.lock); }},
        {"spin", [&] { return of<holdfast::SpinLocks>(asked_.lock); }},
        {"fenced", [&] { return of<holdfast::FencedLocks>(asked_.lock); }},
        {"fair", [&] { return of<holdfast::FairLocks>(asked_.lock); }},
        {"survivor", [&] { return of<holdfast::ReentrantLocks>(asked_.lock); }},
        {"redisson", [&] { return of<holdfast::RedissonLocks>(asked_.lock); }},
        {"read-write", [&] { return read_write(false); }},
        {"read-write, a reader", [&] { return read_write(true); }},
        {"semaphore", [&] { return semaphore(); }},
        {"permit-semaphore", [&] { return permits(); }},
        {"count-down-latch", [&] { return latch(); }},
        {"multi", [&] { return multi(); }},
        {"redlock", [&] { return redlock(); }},
    };
    const auto found = kinds.find(asked_.kind);
    if (found == kinds.end()) throw BadArguments("no kind '" + asked_.kind + "'");
    return found->second();
  }

 private:
  template <typename Kind, typename Options>
  Driver of(const Options& options) {
    const auto locks = std::make_shared<Kind>(clients_.front(), options);
    return keep(locks, locks->obtain(asked_.key));
  }
  Driver keep(std::shared_ptr<void> locks, std::shared_ptr<holdfast::Lock> lock) {
    kept_.push_back(std::move(locks));
    kept_.push_back(lock);
    return driver_of(*lock);
  }
  Driver read_write(bool reads) {
    const auto locks = std::make_shared<holdfast::ReadWriteLocks>(
        clients_.front(), holdfast::ReadWriteOptions{.lock = asked_.lock, .fair = false});
    const auto lock = locks->obtain(asked_.key);
    const Driver writes = keep(locks, lock);
    return reads ? driver_of(lock->read()) : writes;
  }
  Driver semaphore() {
    const auto locks = std::make_shared<holdfast::Semaphores>(
        clients_.front(), holdfast::SemaphoreOptions{.lock = asked_.lock, .permits = asked_.permits});
    const auto lock = locks->obtain(asked_.key);
    Driver driver = keep(locks, lock);
    driver.free = [lock] { return lock->free_permits(); };
    driver.permits = [lock](int number) { lock->set_permits(number); };
    return driver;
  }
  Driver permits() {
    const auto semaphore = std::make_shared<holdfast::PermitSemaphore>(
        clients_.front(), asked_.key,
        holdfast::SemaphoreOptions{.lock = asked_.lock, .permits = asked_.permits});
    const auto permit = std::make_shared<std::optional<holdfast::Permit>>();
    const auto mine = [permit] { return permit->has_value() ? (*permit)->id : std::string("none"); };
    return {.take =
                [=](std::optional<milliseconds> wait) {
                  *permit = wait ? semaphore->try_acquire_for(*wait) : semaphore->try_acquire();
                  return permit->has_value();
                },
            .give = [=] { static_cast<void>(semaphore->release(mine())); },
            .extend = [=](milliseconds) { static_cast<void>(semaphore->extend(mine())); },
            .free = [=] { return semaphore->free_permits(); },
            .permits = [=](int number) { semaphore->set_permits(number); }};
  }
  Driver latch() {
    const auto latch = std::make_shared<holdfast::CountDownLatch>(clients_.front(), asked_.key);
    return {
        .take =
            [=](std::optional<milliseconds> wait) { return wait ? latch->await_for(*wait) : latch->set(2); },
        .give = [=] { static_cast<void>(latch->count_down()); },
        .extend = [](milliseconds) { throw BadArguments("a latch has no lease"); }};
  }
  Driver multi() {
    const auto locks = std::make_shared<holdfast::ReentrantLocks>(clients_.front(), asked_.lock);
    return keep(locks, std::make_shared<holdfast::MultiLock>(std::vector<std::shared_ptr<holdfast::Lock>>{
                           locks->obtain(asked_.key), locks->obtain(asked_.key + ":2")}));
  }
  Driver redlock() {
    std::vector<holdfast::redis::Client*> servers;
    for (holdfast::redis::ThreadedClient& client : clients_) servers.push_back(&client.client());
    const auto locks =
        std::make_shared<holdfast::Redlocks>(servers, holdfast::RedlockOptions{.lock = asked_.lock});
    return keep(locks, locks->obtain(asked_.key));
  }

  const Asked& asked_;
  std::list<holdfast::redis::ThreadedClient>& clients_;
  std::vector<std::shared_ptr<void>> kept_;
};

template <typename Number>
Number number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadArguments("'" + std::string(text) + "' is no number");
  return number;
}

milliseconds ms_of(std::string_view text) { return milliseconds(number_of<std::int64_t>(text)); }

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

Asked asked_of(const std::vector<std::string>& words) {
  if (words.size() < 3) throw BadArguments("usage: lock_probe KIND KEY URL... [OPTIONS]; see the source");
  Asked asked{.kind = words[0], .key = words[1], .warnings = {}, .urls = {}, .lock = {}, .client = {}};
  std::optional<milliseconds> command_timeout;
  bool strict = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == words.size()) throw BadArguments(word + " needs a value");
      return words[++i];
    };
    if (!word.starts_with("--")) {
      asked.urls.push_back(word);
    } else if (word == "--lease") {
      asked.lock.lease = ms_of(value());
    } else if (word == "--permits") {
      asked.permits = number_of<int>(value());
    } else if (word == "--replicas") {
      asked.lock.replicas = number_of<int>(value());
    } else if (word == "--replica-timeout") {
      asked.lock.replica_timeout = ms_of(value());
    } else if (word == "--command-timeout") {
      command_timeout = ms_of(value());
    } else if (word == "--strict") {
      strict = true;
    } else if (word == "--no-renew") {
      asked.lock.renew = false;
    } else if (word == "--members") {
      asked.lock.survivor =
          holdfast::SurvivorOptions{.members = split(value(), ','), .longest_lease = asked.lock.lease};
    } else {
      throw BadArguments("no option '" + word + "'");
    }
  }
  if (asked.lock.survivor) asked.lock.survivor->longest_lease = asked.lock.lease;
  asked.client = asked.kind == "redlock" ? holdfast::redis::options_from_url(asked.urls.at(0))
                                         : holdfast::redis::options_from_urls(asked.urls);
  if (command_timeout) asked.client.command_timeout = *command_timeout;
  asked.client.strict = strict;
  return asked;
}

std::string answer_to(const std::string& line, const Driver& driver, Watcher& watcher, const Asked& asked) {
  const std::size_t blank = line.find(' ');
  const std::string what = line.substr(0, blank);
  const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
  const auto hold = [&]() -> holdfast::Lock& {
    if (driver.lock == nullptr) throw BadArguments("this kind has no such thing");
    return *driver.lock;
  };
  if (what == "take")
    return driver.take(rest.empty() ? std::nullopt : std::optional(ms_of(rest))) ? "granted" : "refused";
  if (what == "lock") return hold().lock(), "granted";
  if (what == "give") return driver.give(), "given";
  if (what == "extend") return driver.extend(ms_of(rest)), "extended";
  if (what == "detach") return "detached " + hold().detach();
  if (what == "adopt") return hold().adopt(rest) ? "granted" : "refused";
  if (what == "force") return hold().force_unlock() ? "forced" : "refused";
  if (what == "renewed") return watcher.await_renewal(), "renewed";
  if (what == "lost") return "lost " + std::to_string(watcher.await_loss().time_since_epoch().count());
  if (what == "free" && driver.free) return "free " + std::to_string(driver.free());
  if (what == "permits" && driver.permits) return driver.permits(number_of<int>(rest)), "permits";
  if (what == "warnings") return "warnings " + asked.warnings;
  throw BadArguments("no request '" + what + "'");
}

std::string error_of(const std::exception& error) {
  const auto is = [&](auto* type) {
    return dynamic_cast<const std::remove_pointer_t<decltype(type)>*>(&error);
  };
  const char* const type = is(static_cast<holdfast::Unavailable*>(nullptr))   ? "Unavailable"
                           : is(static_cast<holdfast::Rejected*>(nullptr))    ? "Rejected"
                           : is(static_cast<holdfast::Unsupported*>(nullptr)) ? "Unsupported"
                           : is(static_cast<holdfast::LockLost*>(nullptr))    ? "LockLost"
                           : is(static_cast<holdfast::NotOwner*>(nullptr))    ? "NotOwner"
                                                                              : "other";
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return std::string("error ") + type + " " + text;
}

void print_defaults() {
  const holdfast::redis::ClientOptions client;
  const holdfast::LockOptions lock;
  const holdfast::RedlockOptions redlock;
  const auto ms = [](holdfast::Duration time) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(time).count());
  };
  std::cout << "{\"connect_timeout\": " << ms(client.connect_timeout)
            << ", \"command_timeout\": " << ms(client.command_timeout)
            << ", \"backoff_min\": " << ms(client.backoff_min)
            << ", \"backoff_max\": " << ms(client.backoff_max) << ", \"lease\": " << ms(lock.lease)
            << ", \"replica_timeout\": " << ms(lock.replica_timeout)
            << ", \"token_lifetime\": " << ms(lock.token_lifetime)
            << ", \"node_timeout\": " << ms(redlock.node_timeout) << "}\n";
}

int run(const std::vector<std::string>& words) {
  Asked asked = asked_of(words);
  asked.client.on_warning = [&asked](std::string_view text) { asked.warnings = text; };
  std::list<holdfast::redis::ThreadedClient> clients;
  if (asked.kind == "redlock") {
    for (const std::string& url : asked.urls) {
      holdfast::redis::ClientOptions options = asked.client;
      options.nodes = holdfast::redis::options_from_url(url).nodes;
      clients.emplace_back(options);
    }
  } else {
    clients.emplace_back(asked.client);
  }
  Watcher watcher(clients.front().runtime());
  asked.lock.observer = &watcher;
  Locks locks(asked, clients);
  const Driver driver = locks.make();
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = answer_to(line, driver, watcher, asked);
    } catch (const BadArguments&) {
      throw;
    } catch (const std::exception& error) {
      answer = error_of(error);
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 1 && words[0] == "--defaults") return print_defaults(), 0;
    return run(words);
  } catch (const std::exception& error) {
    std::cerr << "lock_probe: " << error.what() << "\n";
    return 64;
  }
}
