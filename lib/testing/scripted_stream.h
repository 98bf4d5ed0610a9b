// A Stream whose other end is the test: it sees what was written, decides what is taken and what comes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis::testing {

// What the two ends share; outlives the Stream.
struct Script {
  explicit Script(Runtime& runtime) : runtime(runtime), mutex(runtime), changed(runtime) {}

  Runtime& runtime;
  Mutex mutex;
  Condition changed;
  std::string written;                                           // all that was taken
  std::size_t budget = std::numeric_limits<std::size_t>::max();  // how much more is taken
  std::string incoming;                                          // not yet read
  IoStatus end = IoStatus::ok;                                   // what a read says after `incoming`
  bool closed = false;                                           // by the side under test
  std::set<TaskId> readers, writers;                             // that waited in a read; that wrote
  std::size_t writes = 0;
  std::size_t reading = 0;   // reads that wait now
  bool probes_held = false;  // see hold_probes()

  void feed(std::string_view bytes) {
    const std::unique_lock lock(mutex);
    incoming += bytes;
    changed.notify_all();
  }
  void finish(IoStatus status) {
    const std::unique_lock lock(mutex);
    end = status;
    changed.notify_all();
  }
  void allow(std::size_t bytes) {
    const std::unique_lock lock(mutex);
    budget = bytes;
    changed.notify_all();
  }
  // Reads that would not wait take as long as this lasts, as where their thread does not run for a while.
  void hold_probes(bool hold) {
    const std::unique_lock lock(mutex);
    probes_held = hold;
    changed.notify_all();
  }
  // [parks]
  void wait_written(std::size_t bytes) {
    std::unique_lock lock(mutex);
    changed.wait_until(lock, kNever, [&] { return written.size() >= bytes; });
  }
  void wait_reading() {
    std::unique_lock lock(mutex);
    changed.wait_until(lock, kNever, [&] { return reading > 0; });
  }
};

class ScriptedStream final : public Stream {
 public:
  explicit ScriptedStream(Script& script) : script_(script) {}
  ~ScriptedStream() override { close(); }

  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    std::unique_lock lock(script_.mutex);
    const auto ready = [&] {
      return script_.closed || !script_.incoming.empty() || script_.end != IoStatus::ok;
    };
    if (!ready()) {
      if (deadline <= script_.runtime.now()) {
        script_.changed.wait_until(lock, kNever, [&] { return !script_.probes_held; });
        return {IoStatus::timed_out, 0};
      }
      script_.readers.insert(script_.runtime.task_id());
      ++script_.reading;
      script_.changed.notify_all();
      const bool in_time = script_.changed.wait_until(lock, deadline, ready);
      --script_.reading;
      if (!in_time) return {IoStatus::timed_out, 0};
    }
    if (script_.closed) return {IoStatus::closed, 0};
    if (script_.incoming.empty()) return {script_.end, 0};
    const std::size_t bytes = std::min(into.size(), script_.incoming.size());
    std::copy_n(script_.incoming.begin(), bytes, into.begin());
    script_.incoming.erase(0, bytes);
    return {IoStatus::ok, bytes};
  }

  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    std::unique_lock lock(script_.mutex);
    ++script_.writes;
    script_.writers.insert(script_.runtime.task_id());
    std::size_t done = 0;
    for (;;) {
      if (script_.closed) return {IoStatus::closed, done};
      const std::size_t part = std::min(script_.budget, bytes.size() - done);
      script_.written += bytes.substr(done, part);
      if (script_.budget != std::numeric_limits<std::size_t>::max()) script_.budget -= part;
      done += part;
      script_.changed.notify_all();
      if (done == bytes.size()) return {IoStatus::ok, done};
      if (script_.end != IoStatus::ok && script_.end != IoStatus::eof) return {script_.end, done};
      const bool in_time = script_.changed.wait_until(lock, deadline, [&] {
        return script_.closed || script_.budget > 0 || script_.end != IoStatus::ok;
      });
      if (!in_time) return {IoStatus::timed_out, done};
    }
  }

  void finish_writing() noexcept override {}
  void close() noexcept override {
    const std::unique_lock lock(script_.mutex);
    script_.closed = true;
    script_.changed.notify_all();
  }
  void reset() noexcept override { close(); }
  Endpoint local() const override { return {}; }
  Endpoint peer() const override { return {}; }

 private:
  Script& script_;
};

}  // namespace holdfast::redis::testing
