// What the ports promise, case by case, on every implementation: threads with sockets, fibers in virtual time
// with simulated links, fibers on an event loop with sockets.
//
// Waits are bounded by generous deadlines that a sound implementation never reaches; nothing is measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/redis/testing/ports.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::testing::Ports;

class PortsConformance : public testing::TestWithParam<Ports> {
 protected:
  void on(const std::function<void(Runtime&, Network&)>& body) { redis::testing::on_ports(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Implementations, PortsConformance, redis::testing::all_ports(),
                         [](const auto& info) { return to_string(info.param); });

MonotonicTime soon(Runtime& runtime) { return runtime.now() + 30s; }

// --- clocks ---------------------------------------------------------------------------------------------

TEST_P(PortsConformance, MonotonicTimeNeverRunsBackAndSleepLasts) {
  on([](Runtime& runtime, Network&) {
    MonotonicTime last = runtime.now();
    for (int i = 0; i < 100; ++i) {
      const MonotonicTime now = runtime.now();
      EXPECT_GE(now, last);
      last = now;
    }
    runtime.sleep_for(5ms);
    EXPECT_GE(runtime.now() - last, 5ms);
    runtime.sleep_for(-1s);                                            // in the past: returns
    runtime.sleep_until(last);                                         // likewise
    EXPECT_GT(runtime.wall_now().time_since_epoch(), 24h * 365 * 50);  // a calendar, not an uptime
  });
}

// --- parking --------------------------------------------------------------------------------------------

TEST_P(PortsConformance, UnparkBeforeParkIsNotLost) {
  on([](Runtime& runtime, Network&) {
    Parker& parker = runtime.parker();
    parker.unpark();
    parker.unpark();  // two are one
    EXPECT_TRUE(parker.park_until(soon(runtime)));
    EXPECT_FALSE(parker.park_until(runtime.now() + 2ms));
    EXPECT_FALSE(parker.park_until(runtime.now() - 1s));
  });
}

TEST_P(PortsConformance, UnparkWakesAndShowsWhatWasWrittenBefore) {
  on([](Runtime& runtime, Network&) {
    Parker& parker = runtime.parker();
    int value = 0;
    Task task = runtime.spawn("writer", [&] {
      runtime.sleep_for(2ms);
      value = 42;
      parker.unpark();
    });
    EXPECT_TRUE(parker.park_until(soon(runtime)));
    EXPECT_EQ(value, 42);
  });
}

// --- tasks ----------------------------------------------------------------------------------------------

TEST_P(PortsConformance, JoinWaitsForTheBody) {
  on([](Runtime& runtime, Network&) {
    std::atomic<bool> done = false;
    Task task = runtime.spawn("client", [&] {
      runtime.sleep_for(3ms);
      done = true;
    });
    EXPECT_FALSE(task.finished());
    task.join();
    EXPECT_TRUE(done);
    EXPECT_FALSE(task.joinable());
    task.join();  // again: no effect
    {
      done = false;
      const Task joined_by_its_destructor = runtime.spawn("client", [&] {
        runtime.sleep_for(3ms);
        done = true;
      });
    }
    EXPECT_TRUE(done);
    Task replaced = runtime.spawn("client", [] {});
    replaced = runtime.spawn("client", [] {});
    replaced.join();
  });
}

TEST_P(PortsConformance, TasksHaveIdsAndSlotsOfTheirOwn) {
  on([](Runtime& runtime, Network&) {
    static const int kKey = 0;
    constexpr std::size_t kTasks = 20;
    std::vector<TaskId> ids(kTasks);
    std::vector<Task> tasks;
    runtime.task_local_slot(&kKey) = std::string("mine");
    for (std::size_t i = 0; i < kTasks; ++i) {
      tasks.push_back(runtime.spawn("client", [&, i] {
        ids[i] = runtime.task_id();
        std::any& slot = runtime.task_local_slot(&kKey);
        EXPECT_FALSE(slot.has_value());
        slot = static_cast<int>(i);
        runtime.yield();
        EXPECT_EQ(runtime.task_id(), ids[i]);
        EXPECT_EQ(std::any_cast<int>(runtime.task_local_slot(&kKey)), static_cast<int>(i));
      }));
    }
    tasks.clear();
    std::set<TaskId> different(ids.begin(), ids.end());
    different.insert(runtime.task_id());
    EXPECT_EQ(different.size(), kTasks + 1);
    EXPECT_FALSE(different.contains(0));
    EXPECT_EQ(std::any_cast<std::string>(runtime.task_local_slot(&kKey)), "mine");
    runtime.task_local_slot(&kKey).reset();
  });
}

TEST_P(PortsConformance, SlotsEndWithTheirTask) {
  on([](Runtime& runtime, Network&) {
    static const int kKey = 0;
    const auto shared = std::make_shared<int>(1);
    runtime.spawn("client", [&] { runtime.task_local_slot(&kKey) = shared; }).join();
    EXPECT_EQ(shared.use_count(), 1);
  });
}

// --- mutex and condition --------------------------------------------------------------------------------

TEST_P(PortsConformance, MutexExcludes) {
  on([](Runtime& runtime, Network&) {
    Mutex mutex(runtime);
    int inside = 0, most = 0, sum = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) {
      tasks.push_back(runtime.spawn("client", [&] {
        for (int round = 0; round < 25; ++round) {
          const std::lock_guard guard(mutex);
          most = std::max(most, ++inside);
          ++sum;
          if (round % 8 == 0) runtime.yield();
          --inside;
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(sum, 200);
  });
}

TEST_P(PortsConformance, TryLockDoesNotWait) {
  on([](Runtime& runtime, Network&) {
    Mutex mutex(runtime), other(runtime);
    std::unique_lock held(mutex);
    runtime.spawn("client", [&] { EXPECT_FALSE(mutex.try_lock()); }).join();
    held.unlock();
    runtime
        .spawn("client",
               [&] {
                 const std::scoped_lock both(mutex, other);  // needs try_lock of both
               })
        .join();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST_P(PortsConformance, ConditionTimesOutAndWakes) {
  on([](Runtime& runtime, Network&) {
    Mutex mutex(runtime);
    Condition condition(runtime);
    std::unique_lock lock(mutex);
    bool ready = false;
    EXPECT_FALSE(condition.wait_until(lock, runtime.now() + 2ms, [&] { return ready; }));
    EXPECT_TRUE(lock.owns_lock());
    Task task = runtime.spawn("client", [&] {
      const std::lock_guard guard(mutex);
      ready = true;
      condition.notify_one();
    });
    EXPECT_TRUE(condition.wait_until(lock, soon(runtime), [&] { return ready; }));
    lock.unlock();
    task.join();
  });
}

TEST_P(PortsConformance, NotifyAllWakesEverybody) {
  on([](Runtime& runtime, Network&) {
    Mutex mutex(runtime);
    Condition condition(runtime), arrived(runtime);
    int waiting = 0, woken = 0;
    bool go = false;
    std::vector<Task> tasks;
    for (int i = 0; i < 10; ++i) {
      tasks.push_back(runtime.spawn("client", [&] {
        std::unique_lock lock(mutex);
        ++waiting;
        arrived.notify_one();
        if (condition.wait_until(lock, soon(runtime), [&] { return go; })) ++woken;
      }));
    }
    {
      std::unique_lock lock(mutex);
      EXPECT_TRUE(arrived.wait_until(lock, soon(runtime), [&] { return waiting == 10; }));
      go = true;
      condition.notify_all();
    }
    tasks.clear();
    EXPECT_EQ(woken, 10);
  });
}

TEST_P(PortsConformance, AStopRequestCanWakeAWaiter) {
  on([](Runtime& runtime, Network&) {
    std::stop_source source;
    Parker& parker = runtime.parker();
    const std::stop_callback wake(source.get_token(), [&] { parker.unpark(); });
    Task task = runtime.spawn("stopper", [&] {
      runtime.sleep_for(2ms);
      source.request_stop();
    });
    EXPECT_TRUE(parker.park_until(soon(runtime)));
    EXPECT_TRUE(source.stop_requested());
  });
}

// --- randomness -----------------------------------------------------------------------------------------

TEST_P(PortsConformance, RandomBetweenStaysInBoundsAndReachesThem) {
  on([](Runtime& runtime, Network&) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t drawn = runtime.random_between(3, 6);
      EXPECT_GE(drawn, 3u);
      EXPECT_LE(drawn, 6u);
      seen.insert(drawn);
    }
    EXPECT_EQ(seen.size(), 4u);
    EXPECT_EQ(runtime.random_between(9, 9), 9u);
    std::set<std::uint64_t> wide;
    for (int i = 0; i < 100; ++i) wide.insert(runtime.random_between(0, UINT64_MAX));
    EXPECT_EQ(wide.size(), 100u);
  });
}

// --- streams --------------------------------------------------------------------------------------------

struct Pair {
  std::unique_ptr<Stream> here, there;
};

Pair connected(Runtime& runtime, Network& network) {
  const auto listener = network.listen({"", 0});
  Pair pair;
  Task task = runtime.spawn("acceptor", [&] { pair.there = listener->accept(soon(runtime)).stream; });
  Connected out = network.connect(listener->endpoint(), soon(runtime));
  EXPECT_EQ(out.status, IoStatus::ok);
  pair.here = std::move(out.stream);
  task.join();
  EXPECT_NE(pair.there, nullptr);
  return pair;
}

std::string read_all(Runtime& runtime, Stream& stream, std::size_t size) {
  std::string text;
  std::vector<char> buffer(65536);
  while (text.size() < size) {
    const IoResult got = stream.read(buffer, soon(runtime));
    if (!got.ok()) break;
    text.append(buffer.data(), got.bytes);
  }
  return text;
}

TEST_P(PortsConformance, BytesArriveInOrderBothWays) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    EXPECT_TRUE(pair.here->write("hello", soon(runtime)).ok());
    EXPECT_TRUE(pair.here->write(" world", soon(runtime)).ok());
    EXPECT_EQ(read_all(runtime, *pair.there, 11), "hello world");
    EXPECT_TRUE(pair.there->write("back", soon(runtime)).ok());
    EXPECT_EQ(read_all(runtime, *pair.here, 4), "back");
    EXPECT_EQ(pair.here->peer(), pair.there->local());
    EXPECT_EQ(pair.here->local(), pair.there->peer());
  });
}

TEST_P(PortsConformance, LargeTransfersArePacedByTheReader) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    std::string sent(8'000'000, ' ');
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
    std::atomic<bool> written = false;
    Task writer = runtime.spawn("writer", [&] {
      EXPECT_TRUE(pair.here->write(sent, soon(runtime)).ok());
      written = true;
    });
    runtime.sleep_for(5ms);
    EXPECT_FALSE(written);  // nobody reads: it has to wait
    EXPECT_EQ(read_all(runtime, *pair.there, sent.size()), sent);
    writer.join();
    EXPECT_TRUE(written);
  });
}

TEST_P(PortsConformance, AWriteNobodyReadsTimesOutAndSaysHowFarItCame) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    const std::string much(32'000'000, 'x');
    const IoResult result = pair.here->write(much, runtime.now() + 20ms);
    EXPECT_EQ(result.status, IoStatus::timed_out);
    EXPECT_GT(result.bytes, 0u);
    EXPECT_LT(result.bytes, much.size());
  });
}

TEST_P(PortsConformance, HalfClose) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    pair.here->write("last words", soon(runtime));
    pair.here->finish_writing();
    EXPECT_EQ(read_all(runtime, *pair.there, 10), "last words");
    char byte = 0;
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
    EXPECT_TRUE(pair.there->write("answer", soon(runtime)).ok());
    EXPECT_EQ(read_all(runtime, *pair.here, 6), "answer");
  });
}

TEST_P(PortsConformance, CloseIsEofForThePeerAndClosedHere) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    pair.here->close();
    pair.here->close();
    char byte = 0;
    EXPECT_EQ(pair.there->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
    EXPECT_EQ(pair.here->read({&byte, 1}, soon(runtime)).status, IoStatus::closed);
    EXPECT_EQ(pair.here->write("x", soon(runtime)).status, IoStatus::closed);
  });
}

TEST_P(PortsConformance, CloseWakesAReaderOfTheSameSide) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    IoStatus status = IoStatus::ok;
    Task reader = runtime.spawn("reader", [&] {
      char byte = 0;
      status = pair.here->read({&byte, 1}, soon(runtime)).status;
    });
    runtime.sleep_for(2ms);
    pair.here->close();
    reader.join();
    EXPECT_EQ(status, IoStatus::closed);
  });
}

TEST_P(PortsConformance, ResetReachesThePeerAndWakesIt) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    IoStatus status = IoStatus::ok;
    Task reader = runtime.spawn("reader", [&] {
      char byte = 0;
      status = pair.there->read({&byte, 1}, soon(runtime)).status;
    });
    runtime.sleep_for(2ms);
    pair.here->reset();
    reader.join();
    EXPECT_EQ(status, IoStatus::reset);
    char byte = 0;
    EXPECT_EQ(pair.here->read({&byte, 1}, soon(runtime)).status, IoStatus::closed);
    EXPECT_NE(pair.there->write("x", soon(runtime)).status, IoStatus::ok);
  });
}

TEST_P(PortsConformance, ReadTimesOutAndTheStreamGoesOn) {
  on([](Runtime& runtime, Network& network) {
    const Pair pair = connected(runtime, network);
    char byte = 0;
    EXPECT_EQ(pair.here->read({&byte, 1}, runtime.now() + 2ms).status, IoStatus::timed_out);
    EXPECT_EQ(pair.here->read({&byte, 1}, runtime.now() - 1s).status, IoStatus::timed_out);
    pair.there->write("x", soon(runtime));
    EXPECT_EQ(read_all(runtime, *pair.here, 1), "x");
  });
}

TEST_P(PortsConformance, NobodyListensThere) {
  on([](Runtime& runtime, Network& network) {
    Endpoint endpoint;
    {
      const auto listener = network.listen({"", 0});
      endpoint = listener->endpoint();
    }
    const Connected connected = network.connect(endpoint, soon(runtime));
    EXPECT_EQ(connected.status, IoStatus::refused);
    EXPECT_EQ(connected.stream, nullptr);
  });
}

TEST_P(PortsConformance, ListenersChoosePortsTimeOutAndClose) {
  on([](Runtime& runtime, Network& network) {
    const auto first = network.listen({"", 0});
    const auto second = network.listen({"", 0});
    EXPECT_NE(first->endpoint().port, 0);
    EXPECT_NE(first->endpoint(), second->endpoint());
    EXPECT_THROW(network.listen(first->endpoint()), std::system_error);
    EXPECT_EQ(first->accept(runtime.now() + 2ms).status, IoStatus::timed_out);
    IoStatus status = IoStatus::ok;
    Task acceptor = runtime.spawn("acceptor", [&] { status = first->accept(soon(runtime)).status; });
    runtime.sleep_for(2ms);
    first->close();
    acceptor.join();
    EXPECT_EQ(status, IoStatus::closed);
  });
}

TEST_P(PortsConformance, ManyConnectionsAtOnce) {
  on([](Runtime& runtime, Network& network) {
    constexpr int kConnections = 100;
    const auto listener = network.listen({"", 0});
    std::vector<Task> servers, clients;
    std::atomic<int> answered = 0;
    Task acceptor = runtime.spawn("acceptor", [&] {
      for (int i = 0; i < kConnections; ++i) {
        const std::shared_ptr<Stream> stream = listener->accept(soon(runtime)).stream;
        servers.push_back(runtime.spawn("server", [&runtime, stream] {
          const std::string text = read_all(runtime, *stream, 8);
          stream->write(text, soon(runtime));
          char byte = 0;
          EXPECT_EQ(stream->read({&byte, 1}, soon(runtime)).status, IoStatus::eof);
        }));
      }
    });
    for (int i = 0; i < kConnections; ++i) {
      clients.push_back(runtime.spawn("client", [&, i] {
        const auto stream = network.connect(listener->endpoint(), soon(runtime)).stream;
        ASSERT_NE(stream, nullptr);
        const std::string text = std::to_string(10'000'000 + i);
        stream->write(text, soon(runtime));
        if (read_all(runtime, *stream, 8) == text) ++answered;
      }));
    }
    clients.clear();
    acceptor.join();
    servers.clear();
    EXPECT_EQ(answered, kConnections);
  });
}

}  // namespace
}  // namespace holdfast
