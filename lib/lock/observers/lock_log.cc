#include "lib/lock/observers/lock_log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lib/redis/failure.h"

namespace holdfast {
namespace {

using Severity = LockLog::Severity;

constexpr std::size_t kLongestText = 256;

struct EventName {
  std::string_view name;
  Severity severity;
};

// In the order of LockEvent::Kind.
constexpr EventName kEvents[] = {
    {"acquired", Severity::debug}, {"renewing", Severity::debug},      {"renewed", Severity::debug},
    {"extended", Severity::debug}, {"renew_failed", Severity::warn},   {"lost", Severity::error},
    {"released", Severity::debug}, {"release_failed", Severity::warn}, {"waiting", Severity::debug},
    {"queued", Severity::debug},   {"refused", Severity::info},        {"acquire_failed", Severity::warn},
};

std::string_view text_of(Severity severity) {
  switch (severity) {
    case Severity::debug: return "DEBUG";
    case Severity::info: return "INFO";
    case Severity::warn: return "WARN";
    case Severity::error: return "ERROR";
  }
  return "?";
}

std::string time_text(WallTime time) {
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> at(std::chrono::floor<milliseconds>(time.time_since_epoch()));
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(at - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

// " name=value", quoted where it has to be; nothing for an empty value.
void append(std::string& line, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  const std::string shown = redis::legible(value, kLongestText);
  line.append(1, ' ').append(name).append(1, '=');
  if (shown.find_first_of(" =\"\\") == std::string::npos) {
    line += shown;
    return;
  }
  line += '"';
  for (const char c : shown) {
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  line += '"';
}

std::string begin_line(const Runtime& runtime, const EventName& event, const std::string& kind) {
  std::string line = "ts=" + time_text(runtime.wall_now());
  append(line, "severity", text_of(event.severity));
  append(line, "event", "holdfast.lock." + std::string(event.name));
  append(line, "lock.kind", kind);
  return line;
}

void append_left_out(std::string& line, std::uint64_t left_out) {
  if (left_out != 0) append(line, "left_out", std::to_string(left_out));
}

LockLog::Options checked(LockLog::Options options) {
  if (options.most_lines == 0 || options.most_lines > 65536)
    throw std::invalid_argument("LockLog: most_lines is 1 to 65536");
  if (options.period <= Duration::zero()) throw std::invalid_argument("LockLog: the period is above zero");
  return options;
}

}  // namespace

LockLog::LockLog(Runtime& runtime, Sink sink, Options options)
    : runtime_(runtime), sink_(std::move(sink)), options_(checked(std::move(options))), mutex_(runtime) {
  static_assert(std::size(kEvents) == kKinds &&
                static_cast<std::size_t>(LockEvent::Kind::acquire_failed) + 1 == kKinds);
  if (!sink_) throw std::invalid_argument("LockLog: no sink");
}

bool LockLog::may_write(Lines& lines, MonotonicTime now) const {
  if (lines.written.size() < options_.most_lines) {
    lines.written.push_back(now);
    return true;
  }
  MonotonicTime& oldest = lines.written[lines.oldest];
  if (now - oldest < options_.period) return false;
  oldest = now;
  lines.oldest = (lines.oldest + 1) % options_.most_lines;
  return true;
}

void LockLog::on_event(const LockEvent& event) noexcept {
  const auto index = static_cast<std::size_t>(event.kind);
  const EventName& name = kEvents[index];
  if (name.severity < options_.least) return;
  try {
    const MonotonicTime now = runtime_.now();
    std::uint64_t left_out = 0;
    {
      const std::scoped_lock guard(mutex_);
      Lines& lines = lines_[index];
      if (!may_write(lines, now)) {
        ++lines.left_out;
        return;
      }
      left_out = std::exchange(lines.left_out, 0);
    }
    std::string line = begin_line(runtime_, name, options_.kind);
    append(line, "lock.mode", event.mode);
    append(line, "lock.key", event.key);
    append(line, "lock.acquisition", event.acquisition);
    append(line, "server.address", event.node);
    if (event.permits != 1) append(line, "lock.permits", std::to_string(event.permits));
    if (event.token) append(line, "lock.token", std::to_string(*event.token));
    if (event.since) {
      const Duration took = std::max(Duration::zero(), now - *event.since);
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%.3f", std::chrono::duration<double>(took).count());
      append(line, "duration", seconds);
    }
    append(line, "error.message", event.reason);
    append_left_out(line, left_out);
    write(name.severity, line);
  } catch (const std::exception&) {  // no memory for a line
  } catch (const TaskCancelled&) {   // the process is being killed
  }
}

void LockLog::flush() noexcept {
  try {
    for (std::size_t index = 0; index < kKinds; ++index) {
      std::uint64_t left_out = 0;
      {
        const std::scoped_lock guard(mutex_);
        Lines& lines = lines_[index];
        if (lines.left_out == 0 || !may_write(lines, runtime_.now())) continue;
        left_out = std::exchange(lines.left_out, 0);
      }
      std::string line = begin_line(runtime_, kEvents[index], options_.kind);
      append_left_out(line, left_out);
      write(kEvents[index].severity, line);
    }
  } catch (const std::exception&) {
  } catch (const TaskCancelled&) {
  }
}

void LockLog::write(Severity severity, const std::string& line) const {
  try {
    sink_(severity, line);
  } catch (const std::exception&) {  // the lock has nothing to do with it
  }
}

std::uint64_t LockLog::left_out() const {
  const std::scoped_lock guard(mutex_);
  std::uint64_t sum = 0;
  for (const Lines& lines : lines_) sum += lines.left_out;
  return sum;
}

}  // namespace holdfast
