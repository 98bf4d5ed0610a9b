// Jepsen's checks of counters, sets and queues beside the models of these names: which of the two is stricter
// (models/README.md). Jepsen's are written anew here, from what its documentation says they do.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "checker/history/formats.h"
#include "checker/linearizability/linearizability.h"

namespace holdfast::checker {
namespace {

struct Line {
  int process;
  EventType type;
  Function f;
  int value = 0;               // 0: nothing
  std::vector<int> list = {};  // of a set that was read
};
using Lines = std::vector<Line>;
constexpr auto kAsk = EventType::invoke, kOk = EventType::ok;

bool ours(const std::string& model, const Lines& lines) {
  History history;
  for (const Line& each : lines) {
    Event event;
    event.process = history.intern(std::to_string(each.process));
    event.type = each.type;
    event.f = each.f;
    event.time_ns = static_cast<std::int64_t>(history.events().size());
    if (model == "set" && each.f == Function::read) {
      std::string text = "[";
      for (const int value : each.list) text += (text.size() > 1 ? " " : "") + std::to_string(value);
      if (each.type == kOk) event.value = history.structure(text + "]");
    } else if (each.value != 0 || model == "counter") {
      event.value = Value(each.value);
    }
    history.append(event);
  }
  return check_linearizable(history, {.model = model, .jepsen = true}).outcome == Outcome::holds;
}

// Each read lies between the adds that were ok before it, and those that were asked for before its return.
bool counter_of_jepsen(const Lines& lines) {
  int ok = 0, asked = 0;
  std::map<int, int> least;  // by process: at the invocation of its read
  for (const Line& each : lines) {
    if (each.f == Function::add) (each.type == kAsk ? asked : ok) += each.value;
    if (each.f != Function::read) continue;
    if (each.type == kAsk) {
      least[each.process] = ok;
    } else if (each.value < least[each.process] || each.value > asked) {
      return false;
    }
  }
  return true;
}

bool set_of_jepsen(const Lines& lines) {
  std::set<int> asked, ok, read;
  for (const Line& each : lines) {
    if (each.f == Function::add) (each.type == kAsk ? asked : ok).insert(each.value);
    if (each.f == Function::read && each.type == kOk) read = {each.list.begin(), each.list.end()};
  }
  return std::includes(read.begin(), read.end(), ok.begin(), ok.end()) &&
         std::includes(asked.begin(), asked.end(), read.begin(), read.end());
}

// Enqueues as they are called, dequeues as they return.
bool queue_of_jepsen(const Lines& lines, bool in_order) {
  std::vector<int> inside;
  for (const Line& each : lines) {
    if (each.f == Function::enqueue && each.type == kAsk) inside.push_back(each.value);
    if (each.f != Function::dequeue || each.type != kOk) continue;
    const auto found = std::find(inside.begin(), inside.end(), each.value);
    if (found == inside.end() || (in_order && found != inside.begin())) return false;
    inside.erase(found);
  }
  return true;
}

bool total_queue_of_jepsen(const Lines& lines) {
  std::multiset<int> asked, put, taken;
  for (const Line& each : lines) {
    if (each.f == Function::enqueue) (each.type == kAsk ? asked : put).insert(each.value);
    if (each.f == Function::dequeue && each.type == kOk) taken.insert(each.value);
  }
  return std::includes(taken.begin(), taken.end(), put.begin(), put.end()) &&
         std::includes(asked.begin(), asked.end(), taken.begin(), taken.end());
}

Line add(EventType type, int process, int value) { return {process, type, Function::add, value}; }
Line read(EventType type, int process, int value = 0) { return {process, type, Function::read, value}; }
Line put(EventType type, int process, int value) { return {process, type, Function::enqueue, value}; }
Line take(EventType type, int process, int value = 0) { return {process, type, Function::dequeue, value}; }
Line read_set(EventType type, std::vector<int> list = {}) {
  return {9, type, Function::read, 0, std::move(list)};
}

TEST(BesideJepsen, ACounterMayNotFall) {
  const auto reads = [](int first, int second) {
    return Lines{add(kAsk, 0, 1), read(kAsk, 1),        read(kOk, 1, first),
                 read(kAsk, 1),   read(kOk, 1, second), add(kOk, 0, 1)};
  };
  EXPECT_TRUE(counter_of_jepsen(reads(1, 0)));
  EXPECT_FALSE(ours("counter", reads(1, 0)));
  EXPECT_TRUE(counter_of_jepsen(reads(0, 1)));
  EXPECT_TRUE(ours("counter", reads(0, 1)));
}

TEST(BesideJepsen, ACounterIsTheSumOfSomeAdds) {
  const auto reads = [](int value) {
    return Lines{add(kAsk, 0, 5), read(kAsk, 1), read(kOk, 1, value), add(kOk, 0, 5)};
  };
  EXPECT_TRUE(counter_of_jepsen(reads(3)));
  EXPECT_FALSE(ours("counter", reads(3)));
  for (const int value : {0, 5})
    EXPECT_TRUE(counter_of_jepsen(reads(value)) && ours("counter", reads(value)));
  EXPECT_FALSE(counter_of_jepsen(reads(6)) || ours("counter", reads(6)));
}

TEST(BesideJepsen, ASetMayNotLoseWhatItFindsAgain) {
  const Lines lost{add(kAsk, 0, 1), add(kOk, 0, 1), read_set(kAsk),
                   read_set(kOk),   read_set(kAsk), read_set(kOk, {1})};
  EXPECT_TRUE(set_of_jepsen(lost));
  EXPECT_FALSE(ours("set", lost));
  const Lines late{read_set(kAsk), read_set(kOk), add(kAsk, 0, 1), add(kOk, 0, 1)};
  EXPECT_FALSE(set_of_jepsen(late)) << "it takes the last read for the end";
  EXPECT_TRUE(ours("set", late));
  const Lines never{add(kAsk, 0, 1), add(kOk, 0, 1), read_set(kAsk), read_set(kOk)};
  EXPECT_FALSE(set_of_jepsen(never) || ours("set", never));
}

TEST(BesideJepsen, AQueueOfTotalsHasNoOrderInTime) {
  const Lines before{take(kAsk, 1), take(kOk, 1, 7), put(kAsk, 0, 7), put(kOk, 0, 7)};
  EXPECT_TRUE(total_queue_of_jepsen(before));
  EXPECT_FALSE(ours("unordered-queue", before) || queue_of_jepsen(before, false));
  const Lines inside{put(kAsk, 0, 7), put(kOk, 0, 7)};
  EXPECT_FALSE(total_queue_of_jepsen(inside)) << "7 did not come out";
  EXPECT_TRUE(ours("unordered-queue", inside) && ours("fifo-queue", inside));
}

TEST(BesideJepsen, AFoldKnowsOneOrderOfConcurrentEnqueues) {
  const Lines exchanged{put(kAsk, 0, 1), put(kAsk, 1, 2), put(kOk, 0, 1), put(kOk, 1, 2),
                        take(kAsk, 0),   take(kOk, 0, 2), take(kAsk, 0),  take(kOk, 0, 1)};
  EXPECT_FALSE(queue_of_jepsen(exchanged, true));
  EXPECT_TRUE(ours("fifo-queue", exchanged));
  EXPECT_TRUE(ours("unordered-queue", exchanged) && queue_of_jepsen(exchanged, false));
  const Lines one_by_one{put(kAsk, 0, 1), put(kOk, 0, 1), put(kAsk, 1, 2),
                         put(kOk, 1, 2),  take(kAsk, 0),  take(kOk, 0, 2)};
  EXPECT_FALSE(queue_of_jepsen(one_by_one, true) || ours("fifo-queue", one_by_one));
  EXPECT_TRUE(ours("unordered-queue", one_by_one));
}

}  // namespace
}  // namespace holdfast::checker
