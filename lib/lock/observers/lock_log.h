// LockLog: what locks tell of themselves as lines of a log, in logfmt, never too many.
//
//   holdfast::LockLog log(runtime, [](holdfast::LockLog::Severity, std::string_view line) { write(line); },
//                         {.kind = "reentrant"});
//   holdfast::ReentrantLocks locks(client, {.observer = &log});
//
//   ts=2026-11-26T14:35:07.120Z severity=ERROR event=holdfast.lock.lost lock.kind=reentrant
//   lock.key=stock:42 lock.acquisition=0b7c...:17 server.address=r1 duration=10.004
//   error.message="the lease ran out before a renewal was confirmed" left_out=3          (one line)
//
// Names follow OpenTelemetry's conventions. `duration`, in seconds, is how long the caller had waited, the
// lock had been held, or the renewal had been due. Of a text 256 bytes are shown at most, and bytes that are
// no printable ASCII as \xNN: no line has more than 8,192 bytes.
//
// Of each kind of event there are `most_lines` lines at most within any `period`. What is left out is
// counted: the next line of that kind says how many there were before it.
//
// Thread safety: all members, from any task.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/api/observer.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

class LockLog final : public LockObserver {
 public:
  // ERROR: lost. WARN: renew_failed, release_failed, acquire_failed. INFO: refused. DEBUG: all others.
  enum class Severity { debug, info, warn, error };
  // Gets one line, without its end. May be called by several tasks at once. What it throws is dropped.
  using Sink = std::function<void(Severity severity, std::string_view line)>;

  // What is written.
  struct Options {
    std::string kind = {};                      // lock.kind in each line; empty: left out
    Severity least = Severity::warn;            // nothing below
    std::size_t most_lines = 10;                // of one kind of event, within any `period`
    Duration period = std::chrono::seconds(1);  // see most_lines
    // The sink never parks, takes its time or blocks (LockObserver::is_quick()).
    bool quick = false;
  };

  // `runtime`: that of the locks; outlives this. Throws std::invalid_argument: no sink, no lines (or more
  // than 65,536), no period.
  LockLog(Runtime& runtime, Sink sink) : LockLog(runtime, std::move(sink), Options()) {}
  // The same, with options.
  LockLog(Runtime& runtime, Sink sink, Options options);

  bool is_quick() const noexcept override { return options_.quick; }
  void on_event(const LockEvent& event) noexcept override;

  // Writes what was left out since the last line of its kind, one line a kind, where one is allowed now. For
  // a timer, and for the end.
  void flush() noexcept;
  // How many lines no line has told of yet.
  std::uint64_t left_out() const;

 private:
  static constexpr std::size_t kKinds = 12;
  // The lines of one kind of event.
  struct Lines {
    std::vector<MonotonicTime> written;  // the last `most_lines`; the oldest stands at `oldest`
    std::size_t oldest = 0;
    std::uint64_t left_out = 0;
  };
  bool may_write(Lines& lines, MonotonicTime now) const;  // under the mutex; then it is written
  void write(Severity severity, const std::string& line) const;

  Runtime& runtime_;
  const Sink sink_;
  const Options options_;
  mutable Mutex mutex_;  // never held across the sink
  std::array<Lines, kKinds> lines_;
};

}  // namespace holdfast
