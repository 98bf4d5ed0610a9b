// LockMetrics: counts what locks tell of themselves, for Prometheus.
//
//   holdfast::LockMetrics metrics(runtime, {.label = "resource", .label_of = resource_of});
//   holdfast::ReentrantLocks locks(client, {.observer = metrics.of("reentrant")});
//   metrics.add_client("main", client);
//   // GET /metrics answers metrics.text(), as "text/plain; version=0.0.4"
//
// Names follow OpenTelemetry's conventions, as Prometheus writes them: holdfast.lock.wait.duration in seconds
// is holdfast_lock_wait_duration_seconds. Each has the labels
//   lock_kind  what was given to of()
//   lock_mode  Lock::mode(): "" (exclusive), "read", "write"; "other": a mode that this version does not know
// and one that the application makes of the key, if it wants one. Of that one's values `most_values` are kept
// for each kind, as they come; all later ones count under "other", and a warning says so once. So the number
// of series is bounded, whatever keys there are.
//
// Thread safety: all members, from any task. Telling an event neither parks nor takes a mutex, but for the
// first of each value of the label.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lock/api/observer.h"
#include "lib/redis/client.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

// How LockMetrics counts.
struct LockMetricsOptions {
  // One more label: its name, and its value for a key. Both or neither. `label_of` may be called by several
  // tasks at once and must not park; where it throws the value is "other". Of a value 128 bytes are shown,
  // and bytes that are no printable ASCII as \xNN.
  std::string label = {};
  std::function<std::string(std::string_view key)> label_of = {};  // see label
  std::size_t most_values = 64;                                    // of that label, for each kind
  // The upper bounds of the histograms' buckets, rising.
  std::vector<Duration> buckets = {
      std::chrono::microseconds(500), std::chrono::milliseconds(1),   std::chrono::microseconds(2500),
      std::chrono::milliseconds(5),   std::chrono::milliseconds(10),  std::chrono::milliseconds(25),
      std::chrono::milliseconds(50),  std::chrono::milliseconds(100), std::chrono::milliseconds(250),
      std::chrono::milliseconds(500), std::chrono::seconds(1),        std::chrono::milliseconds(2500),
      std::chrono::seconds(5),        std::chrono::seconds(10),       std::chrono::seconds(30),
      std::chrono::seconds(60),       std::chrono::seconds(300)};
  // Gets the warnings, one line each. It must not park. Empty: standard error.
  std::function<void(std::string_view)> on_warning = {};
};

class LockMetrics {
 public:
  // `runtime`: that of the locks; outlives this. Throws std::invalid_argument: a label without a function or
  // the other way round, a name that is none for Prometheus or is taken, no values, no rising buckets.
  explicit LockMetrics(Runtime& runtime, LockMetricsOptions options = {});
  // REQUIRES: no lock tells it anything any more.
  ~LockMetrics();
  LockMetrics(const LockMetrics&) = delete;
  LockMetrics& operator=(const LockMetrics&) = delete;

  // The observer for locks of that kind, the same one each time; quick. Lives as long as this.
  LockObserver* of(std::string_view kind);
  // What that client does is in text(), too, with the label client="NAME". It outlives this.
  void add_client(std::string name, const redis::Client& client);

  // All of it, in Prometheus' text format 0.0.4. Each number is one that was there during the call.
  // Kinds, and values of the label, are in the order of their bytes; "other" is last.
  std::string text() const;

 private:
  class Kind;
  const LockMetricsOptions options_;
  Runtime& runtime_;
  mutable Mutex mutex_;
  std::map<std::string, std::unique_ptr<Kind>, std::less<>> kinds_;
  std::map<std::string, const redis::Client*> clients_;
};

}  // namespace holdfast
