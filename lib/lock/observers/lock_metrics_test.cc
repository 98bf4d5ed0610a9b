// What is counted of locks that run: on threads and an event loop with a real Redis, and in virtual time.
#include "lib/lock/observers/lock_metrics.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "lib/lock/observers/observers.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/testing/peer.h"
#include "lib/testing/prometheus_text.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::parse_prometheus;
using testing::PrometheusText;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

const std::string kExclusive = "{lock_kind=\"reentrant\",lock_mode=\"\"}";

// The number of samples of a histogram up to that bound.
double up_to(const PrometheusText& read, const std::string& name, const std::string& bound) {
  return read[name + "_bucket{le=\"" + bound + "\"," + kExclusive.substr(1)];
}

class LockMetricsOn : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
  static bool virtual_time() { return GetParam() == Where::embedded; }
};
INSTANTIATE_TEST_SUITE_P(Ports, LockMetricsOn, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// Locks that are counted, and an observer that can be waited for.
struct Counted {
  explicit Counted(Fixture& fixture, Duration lease = 60s) : Counted(fixture, lease, fixture.redis) {}
  Counted(Fixture& fixture, Duration lease, const Endpoint& server)
      : metrics(fixture.runtime),
        seen(fixture.runtime),
        all({metrics.of("reentrant"), &seen}),
        client(fixture.runtime, fixture.network, fixture.options(server)),
        locks(client, {.lease = lease, .observer = &all}) {}
  PrometheusText read() const { return parse_prometheus(metrics.text()); }

  LockMetrics metrics;
  RecordingObserver seen;
  Observers all;
  redis::Client client;
  ReentrantLocks locks;
};

TEST_P(LockMetricsOn, GrantsAndHoldsAreCountedAndTimed) {
  run([](Fixture& fixture) {
    Counted counted(fixture);
    const auto lock = counted.locks.obtain("k");
    for (int i = 0; i < 3; ++i) {
      lock->lock();
      lock->lock();  // deeper: neither a grant nor a hold
      fixture.runtime.sleep_for(30ms);
      lock->release();
      lock->release();
    }
    const PrometheusText read = counted.read();
    EXPECT_EQ(read["holdfast_lock_grants_total" + kExclusive], 3);
    EXPECT_EQ(read["holdfast_lock_releases_total" + kExclusive], 3);
    EXPECT_EQ(read["holdfast_lock_wait_duration_seconds_count" + kExclusive], 3);
    EXPECT_EQ(read["holdfast_lock_hold_duration_seconds_count" + kExclusive], 3);
    EXPECT_EQ(up_to(read, "holdfast_lock_hold_duration_seconds", "0.025"), 0);
    const double held = read["holdfast_lock_hold_duration_seconds_sum" + kExclusive];
    EXPECT_GE(held, 0.09);
    if (virtual_time()) {
      EXPECT_LT(held, 0.099);
      EXPECT_EQ(up_to(read, "holdfast_lock_hold_duration_seconds", "0.05"), 3);
      EXPECT_EQ(up_to(read, "holdfast_lock_wait_duration_seconds", "0.01"), 3);
    }
  });
}

// The wait begins with the call, in the queue of the process, too, of which the server knows nothing.
TEST_P(LockMetricsOn, TheWaitIsThatOfTheCaller) {
  run([](Fixture& fixture) {
    Counted counted(fixture);
    const auto lock = counted.locks.obtain("k");
    lock->lock();
    testing::Sign asking(fixture.runtime);
    Task waiter = fixture.runtime.spawn("client", [&] {
      asking.give();
      lock->lock();
      lock->release();
    });
    asking.wait();
    fixture.runtime.sleep_for(100ms);
    const MonotonicTime released_at = fixture.runtime.now();
    lock->release();
    waiter.join();
    const PrometheusText read = counted.read();
    EXPECT_EQ(read["holdfast_lock_grants_total" + kExclusive], 2);
    EXPECT_EQ(read["holdfast_lock_waits_total" + kExclusive], 0) << "the server never refused it";
    if (!virtual_time()) return;
    EXPECT_EQ(up_to(read, "holdfast_lock_wait_duration_seconds", "0.05"), 1);
    EXPECT_EQ(up_to(read, "holdfast_lock_wait_duration_seconds", "0.25"), 2);
    EXPECT_LT(fixture.runtime.now() - released_at, 50ms);
  });
}

TEST_P(LockMetricsOn, RefusalsWaitsAndFailuresAreToldApart) {
  run([](Fixture& fixture) {
    testing::Peer<ReentrantLocks> holder(fixture, {.lease = 60s});
    const auto held = holder.locks.obtain("k");
    held->lock();
    Counted counted(fixture);
    const auto lock = counted.locks.obtain("k");
    EXPECT_FALSE(lock->try_lock());
    EXPECT_FALSE(lock->try_lock_for(20ms));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(lock->lock_interruptibly(stop.get_token()), Interrupted);
    const PrometheusText read = counted.read();
    EXPECT_EQ(read["holdfast_lock_grants_total" + kExclusive], 0);
    EXPECT_EQ(read["holdfast_lock_refusals_total" + kExclusive], 2);
    EXPECT_EQ(read["holdfast_lock_waits_total" + kExclusive], 1);
    EXPECT_EQ(read["holdfast_lock_acquire_failures_total" + kExclusive], 1);
    EXPECT_EQ(read["holdfast_lock_wait_duration_seconds_count" + kExclusive], 0);
    held->release();
  });
}

TEST_P(LockMetricsOn, RenewalsAreCountedAndHowLateTheyAre) {
  run([](Fixture& fixture) {
    Counted counted(fixture, fixture.lease(300ms));
    const auto lock = counted.locks.obtain("k");
    lock->lock();
    counted.seen.wait_for(Kind::renewed, 3);
    lock->release();
    const PrometheusText read = counted.read();
    const double renewals = read["holdfast_lock_renewals_total" + kExclusive];
    EXPECT_GE(renewals, 3);
    EXPECT_EQ(read["holdfast_lock_renewal_delay_seconds_count" + kExclusive], renewals);
    EXPECT_EQ(read["holdfast_lock_renewal_failures_total" + kExclusive], 0);
    if (virtual_time()) {
      EXPECT_EQ(up_to(read, "holdfast_lock_renewal_delay_seconds", "0.01"), renewals);
    }
  });
}

// It is due a third of the lease after the last one, however often it is tried: a try that failed is made
// again a thirtieth of the lease later.
TEST_P(LockMetricsOn, ARenewalThatIsTriedAgainIsLateFromWhenItWasDue) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Counted counted(fixture, fixture.lease(600ms), link.endpoint());
    const auto lock = counted.locks.obtain("k");
    lock->lock();
    link.lose_request_with(std::string(kReentrantRenew.sha1));
    counted.seen.wait_for(Kind::renewed);
    const PrometheusText read = counted.read();
    EXPECT_EQ(read["holdfast_lock_renewal_failures_total" + kExclusive], 1);
    EXPECT_EQ(read["holdfast_lock_renewals_total" + kExclusive], 1);
    EXPECT_GE(read["holdfast_lock_renewal_delay_seconds_sum" + kExclusive], 0.02);
    lock->release();
  });
}

TEST_P(LockMetricsOn, ALossEndsTheHoldAndIsCountedOnce) {
  run([](Fixture& fixture) {
    Counted counted(fixture, fixture.lease(300ms));
    const auto lock = counted.locks.obtain("k");
    lock->lock();
    counted.client.call({"DEL", "k"});
    counted.seen.wait_for(Kind::lost);
    EXPECT_THROW(lock->release(), LockLost);
    const PrometheusText read = counted.read();
    EXPECT_EQ(read["holdfast_lock_losses_total" + kExclusive], 1);
    EXPECT_EQ(read["holdfast_lock_releases_total" + kExclusive], 0);
    EXPECT_EQ(read["holdfast_lock_hold_duration_seconds_count" + kExclusive], 1);
  });
}

TEST_P(LockMetricsOn, ModesAndKindsHaveSeriesOfTheirOwn) {
  run([](Fixture& fixture) {
    LockMetrics metrics(fixture.runtime);
    EXPECT_EQ(metrics.of("rw"), metrics.of("rw"));
    EXPECT_TRUE(metrics.of("rw")->is_quick());
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    ReadWriteLocks tables(client, {.lock = {.lease = 60s, .observer = metrics.of("rw")}});
    const auto table = tables.obtain("t");
    table->lock_shared();
    table->unlock_shared();
    table->lock();
    table->downgrade();
    table->unlock_shared();
    PermitSemaphore seats(client, "seats", {.lock = {.lease = 60s, .observer = metrics.of("permit")}});
    const auto seat = seats.try_acquire();
    ASSERT_TRUE(seat);
    EXPECT_FALSE(seats.try_acquire());
    EXPECT_TRUE(seats.release(seat->id));
    metrics.add_client("main", client);
    const PrometheusText read = parse_prometheus(metrics.text());
    EXPECT_EQ(read["holdfast_lock_grants_total{lock_kind=\"rw\",lock_mode=\"read\"}"], 2);
    EXPECT_EQ(read["holdfast_lock_grants_total{lock_kind=\"rw\",lock_mode=\"write\"}"], 1);
    EXPECT_EQ(read["holdfast_lock_hold_duration_seconds_count{lock_kind=\"rw\",lock_mode=\"write\"}"], 1);
    EXPECT_EQ(read["holdfast_lock_hold_duration_seconds_count{lock_kind=\"rw\",lock_mode=\"read\"}"], 2);
    EXPECT_EQ(read["holdfast_lock_grants_total{lock_kind=\"permit\",lock_mode=\"\"}"], 1);
    EXPECT_EQ(read["holdfast_lock_refusals_total{lock_kind=\"permit\",lock_mode=\"\"}"], 1);
    EXPECT_EQ(read["holdfast_lock_releases_total{lock_kind=\"permit\",lock_mode=\"\"}"], 1);
    EXPECT_GE(read["holdfast_redis_commands_total{client=\"main\"}"], 8);
    EXPECT_GE(read["holdfast_redis_connections_total{client=\"main\"}"], 1);
  });
}

// --- events made by hand ---------------------------------------------------------------------------------

class LockMetricsAlone : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Runtime&)>& body) {
    testing::on_ports(GetParam(), [&](Runtime& runtime, Network&) { body(runtime); });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, LockMetricsAlone, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

std::string grants_of(const std::string& value) {
  return "holdfast_lock_grants_total{lock_kind=\"x\",lock_mode=\"\",resource=\"" + value + "\"}";
}

TEST_P(LockMetricsAlone, ValuesOfTheLabelAreInOrderAndOtherIsLast) {
  run([](Runtime& runtime) {
    const auto itself = [](std::string_view key) { return std::string(key); };
    LockMetrics metrics(runtime, {.label = "resource", .label_of = itself});
    for (const char c : std::string("qwertyuiopasdfghjklzxcvbnm"))
      metrics.of("x")->on_event({.kind = Kind::acquired, .key = std::string(1, c)});
    metrics.of("x")->on_event({.kind = Kind::acquired, .key = "other"});
    const std::string text = metrics.text();
    std::size_t last = 0;
    for (char c = 'a'; c <= 'z'; ++c) {
      const std::size_t here = text.find(grants_of(std::string(1, c)));
      ASSERT_NE(here, std::string::npos) << c;
      EXPECT_GT(here, last) << c;
      last = here;
    }
    EXPECT_GT(text.find(grants_of("other")), last);
  });
}

TEST_P(LockMetricsAlone, AsManyValuesOfTheLabelAsWereAllowedAndTheRestIsOneSeries) {
  run([](Runtime& runtime) {
    std::vector<std::string> warnings;
    LockMetrics metrics(runtime, {.label = "resource",
                                  .label_of = [](std::string_view key) { return std::string(key); },
                                  .most_values = 3,
                                  .on_warning = [&](std::string_view line) { warnings.emplace_back(line); }});
    LockObserver* const observer = metrics.of("x");
    for (int i = 0; i < 1000; ++i) {
      const std::string key = "k" + std::to_string(i);
      observer->on_event({.kind = Kind::acquired, .key = key});
    }
    observer->on_event({.kind = Kind::acquired, .key = "k1"});
    observer->on_event({.kind = Kind::acquired, .key = "k1", .mode = "read"});  // a known value: no new one
    const PrometheusText read = parse_prometheus(metrics.text());
    EXPECT_EQ(read[grants_of("k0")], 1);
    EXPECT_EQ(read[grants_of("k1")], 2);
    EXPECT_EQ(read[grants_of("k2")], 1);
    EXPECT_EQ(read[grants_of("other")], 997);
    EXPECT_EQ(read.samples.count(grants_of("k3")), 0u);
    EXPECT_EQ(read["holdfast_lock_grants_total{lock_kind=\"x\",lock_mode=\"read\",resource=\"k1\"}"], 1);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("more than 3 values of the label 'resource'"), std::string::npos)
        << warnings[0];
  });
}

TEST_P(LockMetricsAlone, AModeThatNobodyKnowsIsNoSeriesOfItsOwn) {
  run([](Runtime& runtime) {
    LockMetrics metrics(runtime);
    for (int i = 0; i < 100; ++i) {
      const std::string mode = "m" + std::to_string(i);
      metrics.of("x")->on_event({.kind = Kind::lost, .key = "k", .mode = mode});
    }
    const PrometheusText read = parse_prometheus(metrics.text());
    EXPECT_EQ(read["holdfast_lock_losses_total{lock_kind=\"x\",lock_mode=\"other\"}"], 100);
  });
}

TEST_P(LockMetricsAlone, AnyTextMayBeAValueAndAFunctionMayThrow) {
  run([](Runtime& runtime) {
    LockMetrics metrics(runtime, {.label = "resource", .label_of = [](std::string_view key) {
                                    if (key == "bad") throw std::runtime_error("no");
                                    return std::string(key);
                                  }});
    LockObserver* const observer = metrics.of("x");
    const std::string longer(1000, 'a');
    for (const std::string_view key : {std::string_view("q\"b\\c"), std::string_view("a\nb\xff"), {longer}}) {
      observer->on_event({.kind = Kind::acquired, .key = key});
    }
    observer->on_event({.kind = Kind::acquired, .key = "bad"});
    const PrometheusText read = parse_prometheus(metrics.text());
    EXPECT_EQ(read[grants_of("q\"b\\c")], 1);
    EXPECT_EQ(read[grants_of("a\\x0ab\\xff")], 1);
    EXPECT_EQ(read[grants_of(std::string(128, 'a') + "... (1000 bytes)")], 1);
    EXPECT_EQ(read[grants_of("other")], 1);
  });
}

TEST_P(LockMetricsAlone, TimesFallIntoTheirBuckets) {
  run([](Runtime& runtime) {
    LockMetrics metrics(runtime, {.buckets = {1s, 1h}});
    const MonotonicTime now = runtime.now();
    LockObserver* const observer = metrics.of("reentrant");
    observer->on_event({.kind = Kind::acquired, .since = now - 10s});
    observer->on_event({.kind = Kind::acquired, .since = now - 10h});
    observer->on_event({.kind = Kind::acquired});                    // was not asked for: adopted
    observer->on_event({.kind = Kind::renewed, .since = now + 1h});  // before it was due
    const PrometheusText read = parse_prometheus(metrics.text());
    EXPECT_EQ(read["holdfast_lock_grants_total" + kExclusive], 3);
    EXPECT_EQ(up_to(read, "holdfast_lock_wait_duration_seconds", "1"), 0);
    EXPECT_EQ(up_to(read, "holdfast_lock_wait_duration_seconds", "3600"), 1);
    EXPECT_EQ(up_to(read, "holdfast_lock_wait_duration_seconds", "+Inf"), 2);
    EXPECT_GE(read["holdfast_lock_wait_duration_seconds_sum" + kExclusive], 36010);
    EXPECT_EQ(up_to(read, "holdfast_lock_renewal_delay_seconds", "1"), 1);
    EXPECT_EQ(read["holdfast_lock_renewal_delay_seconds_sum" + kExclusive], 0);
  });
}

TEST_P(LockMetricsAlone, OptionsThatMakeNoSenseAreRefused) {
  run([](Runtime& runtime) {
    const auto label_of = [](std::string_view) { return std::string(); };
    const auto made = [&](LockMetricsOptions options) {
      const LockMetrics metrics(runtime, std::move(options));
    };
    EXPECT_THROW(made({.label = "resource"}), std::invalid_argument);
    EXPECT_THROW(made({.label_of = label_of}), std::invalid_argument);
    EXPECT_THROW(made({.label = "lock_kind", .label_of = label_of}), std::invalid_argument);
    EXPECT_THROW(made({.label = "le", .label_of = label_of}), std::invalid_argument);
    EXPECT_THROW(made({.most_values = 0}), std::invalid_argument);
    EXPECT_THROW(made({.buckets = {}}), std::invalid_argument);
    EXPECT_THROW(made({.buckets = {2s, 1s}}), std::invalid_argument);
    EXPECT_THROW(made({.buckets = {1s, 1s}}), std::invalid_argument);
    EXPECT_THROW(made({.buckets = {0s, 1s}}), std::invalid_argument);
  });
}

// Many tell at once while somebody reads: nothing is lost, and every text can be read.
TEST_P(LockMetricsAlone, TasksMayTellAtOnce) {
  run([](Runtime& runtime) {
    constexpr int kTasks = 4, kEach = 2000;
    LockMetrics metrics(runtime, {.label = "resource",
                                  .label_of = [](std::string_view key) { return std::string(key); },
                                  .most_values = 8,
                                  .on_warning = [](std::string_view) {}});
    std::vector<Task> tasks;
    for (int task = 0; task < kTasks; ++task) {
      tasks.push_back(runtime.spawn("client", [&] {
        for (int i = 0; i < kEach; ++i) {
          const std::string key = "k" + std::to_string(i % 16);
          metrics.of("x")->on_event({.kind = Kind::acquired, .key = key, .since = runtime.now()});
        }
      }));
    }
    for (int i = 0; i < 20; ++i) {
      parse_prometheus(metrics.text());
      runtime.yield();
    }
    for (Task& task : tasks) task.join();
    double grants = 0, values = 0;
    for (const auto& [sample, value] : parse_prometheus(metrics.text()).samples) {
      if (!sample.starts_with("holdfast_lock_grants_total")) continue;
      grants += value;
      ++values;
    }
    EXPECT_EQ(grants, kTasks * kEach);
    EXPECT_EQ(values, 9);
  });
}

}  // namespace
}  // namespace holdfast
