#include "tools/holdfast/search_watch.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace holdfast::tools {

namespace {

std::atomic<bool> interrupt_seen = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int number) {
  if (!interrupt_seen.exchange(true)) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

SearchWatch::SearchWatch(std::optional<std::chrono::nanoseconds> timeout, std::string what)
    : timeout_(timeout),
      what_(std::move(what)),
      begin_(std::chrono::steady_clock::now()),
      progress_(0, "keys"),
      before_(std::signal(SIGINT, on_interrupt)) {}

SearchWatch::~SearchWatch() { std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_); }

bool SearchWatch::interrupted() { return interrupt_seen; }
void SearchWatch::forget_interrupt() { interrupt_seen = false; }

const char* SearchWatch::ask(const checker::SearchProgress& progress) {
  if (interrupt_seen) return "interrupted";
  const auto spent = std::chrono::steady_clock::now() - begin_;
  if (timeout_ && spent >= *timeout_) return "time";
  if (progress.steps == 0) return nullptr;
  std::string key;
  if (keys_ > 1) key = fmt::format("key {} of {}, ", keys_done_ + 1, keys_);
  progress_.tell([&] {
    return fmt::format("{}{} of {} operations settled, {} states, {} · {}", key, progress.settled,
                       progress.operations, progress.steps,
                       format_seconds(std::chrono::duration<double>(spent).count()), what_);
  });
  return nullptr;
}

void SearchWatch::key_done(std::size_t done, std::size_t all) {
  keys_done_ = done;
  keys_ = all;
  progress_.tell([&] { return fmt::format("{} of {} keys · {}", done, all, what_); });
}

}  // namespace holdfast::tools
