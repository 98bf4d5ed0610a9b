#include "checker/testing/draw_register.h"

#include <queue>
#include <set>
#include <string>
#include <vector>

#include "checker/holds/holds.h"
#include "checker/testing/random.h"

namespace holdfast::checker {

namespace {

struct Request {
  Function f = Function::read;
  Value expected, value;  // as `token` and `value` of an Event
};

enum class Step : std::uint8_t { invoke, arrive, answer, arrive_lost, give_up };

struct Scheduled {
  std::int64_t time_us;
  std::uint64_t number;  // ties: in the order in which they were scheduled
  Step step;
  std::uint32_t client;
  Request request;
  bool failed = false;
  bool operator>(const Scheduled& other) const {
    return time_us != other.time_us ? time_us > other.time_us : number > other.number;
  }
};

class Drawing {
 public:
  explicit Drawing(const DrawRegisterOptions& options)
      : options_(options), random_(options.seed), register_(options.initial) {
    for (std::uint32_t client = 0; client < options.clients; ++client) {
      processes_.push_back(client);
      schedule(random_.between(1, 200), Step::invoke, client, {});
    }
  }

  History draw() {
    while (!queue_.empty()) {
      const Scheduled now = queue_.top();
      queue_.pop();
      now_us_ = now.time_us;
      step(now);
    }
    return std::move(history_);
  }

 private:
  void schedule(std::int64_t wait_us, Step step, std::uint32_t client, const Request& request,
                bool failed = false) {
    queue_.push({now_us_ + wait_us, number_++, step, client, request, failed});
  }
  void record(std::uint32_t client, EventType type, const Request& request, std::string_view error = {}) {
    Event event;
    event.time_ns = now_us_ * 1000;
    event.process = history_.intern(std::to_string(processes_[client]));
    event.type = type;
    event.f = request.f;
    event.token = request.expected;
    event.value = request.value;
    event.error = history_.intern(error);
    history_.append(event);
  }
  Request draw_request() {
    Request request;
    const std::int64_t kind = random_.between(0, options_.with_cas ? 2 : 1);
    if (kind == 0) return request;
    request.f = kind == 1 ? Function::write : Function::cas;
    request.value = Value(random_.between(0, options_.values - 1));
    if (kind == 2) request.expected = Value(random_.between(0, options_.values - 1));
    return request;
  }
  // True: the register was read, or has the new value.
  bool take_effect(Request& request) {
    if (request.f == Function::cas && register_ != request.expected) return false;
    if (request.f == Function::read) {
      request.value = register_;
    } else {
      register_ = request.value;
    }
    return true;
  }

  void step(const Scheduled& now) {
    Request request = now.request;
    switch (now.step) {
      case Step::invoke: return invoke(now.client);
      case Step::arrive: {
        const bool done = take_effect(request);
        return schedule(random_.between(1, 200), Step::answer, now.client, request, !done);
      }
      case Step::arrive_lost: take_effect(request); return;
      case Step::answer: record(now.client, now.failed ? EventType::fail : EventType::ok, request); break;
      case Step::give_up:
        if (request.f == Function::read) {
          record(now.client, EventType::fail, request, "timed-out");
        } else {
          record(now.client, EventType::info, request);
          processes_[now.client] += options_.clients;
        }
        break;
    }
    schedule(random_.between(1, 200), Step::invoke, now.client, {});
  }

  void invoke(std::uint32_t client) {
    if (invoked_++ >= options_.operations) return;
    const Request request = draw_request();
    record(client, EventType::invoke, request);
    if (!random_.chance(options_.unknown))
      return schedule(random_.between(1, 200), Step::arrive, client, request);
    const bool takes_effect = random_.chance(0.5);
    const std::int64_t arrives_us = random_.between(1, 10'000);
    if (takes_effect) schedule(arrives_us, Step::arrive_lost, client, request);
    schedule(5000, Step::give_up, client, request);
  }

  const DrawRegisterOptions options_;
  testing::Random random_;
  History history_;
  std::vector<std::uint64_t> processes_;  // by client: its present number
  std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> queue_;
  Value register_;
  std::int64_t now_us_ = 0;
  std::uint64_t number_ = 0, invoked_ = 0;
};

// An operation that did not fail.
struct Interval {
  std::size_t invoked = 0, completed = kNowhere;  // kNowhere: of unknown outcome
  Function f = Function::read;
  Value value;
};

std::vector<Interval> intervals_of(const History& history) {
  std::vector<Interval> intervals;
  const Pairs pairs = pair_events(history);
  const auto& events = history.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type != EventType::invoke) continue;
    const std::size_t end = pairs.other[i];
    if (end != kNowhere && events[end].type == EventType::fail) continue;
    const bool known = end != kNowhere && events[end].type == EventType::ok;
    intervals.push_back({.invoked = i,
                         .completed = known ? end : kNowhere,
                         .f = events[i].f,
                         .value = known ? events[end].value : events[i].value});
  }
  return intervals;
}

// A value that `read` cannot have returned, if the argument above gives one.
std::optional<Value> impossible_value(const std::vector<Interval>& intervals, const Interval& read,
                                      std::int64_t values) {
  const Interval* before = nullptr;  // w: the later it was invoked, the fewer operations stand between
  for (const Interval& each : intervals) {
    if (each.completed < read.invoked && (before == nullptr || each.invoked > before->invoked))
      before = &each;
  }
  if (before == nullptr) return std::nullopt;
  std::set<Value> possible = {before->value};
  for (const Interval& each : intervals) {
    const bool between = each.completed > before->invoked && each.invoked < read.completed;
    if (between && each.f != Function::read) possible.insert(each.value);
  }
  for (std::int64_t value = 0; value < values; ++value) {
    if (!possible.contains(Value(value))) return Value(value);
  }
  return std::nullopt;
}

}  // namespace

DrawnRegister draw_register_history(const DrawRegisterOptions& options) {
  DrawnRegister drawn{Drawing(options).draw(), {}};
  if (!options.invalid) return drawn;
  const std::vector<Interval> intervals = intervals_of(drawn.history);
  Value value;
  for (const Interval& each : intervals) {
    if (each.f != Function::read || each.completed >= drawn.history.events().size() * 99 / 100) continue;
    if (drawn.violation && *drawn.violation > each.completed) continue;
    const auto impossible = impossible_value(intervals, each, options.values);
    if (!impossible) continue;
    drawn.violation = each.completed;
    value = *impossible;
  }
  if (!drawn.violation) return drawn;
  History changed = drawn.history.names();
  for (Event event : drawn.history.events()) {
    if (changed.events().size() == *drawn.violation) event.value = value;
    changed.append(event);
  }
  drawn.history = std::move(changed);
  return drawn;
}

}  // namespace holdfast::checker
