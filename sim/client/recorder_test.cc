// The recorder in the embedded world, with locks that do as they are told.
#include "sim/client/recorder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using checker::Event;
using checker::EventType;
using checker::Function;

// A lock that says what the test wants to hear.
class Told final : public Lock {
 public:
  Told(Runtime& runtime, std::string key, std::string record, std::optional<MonotonicTime> valid_until,
       std::string mode = "read")
      : runtime_(runtime),
        key_(std::move(key)),
        record_(std::move(record)),
        mode_(std::move(mode)),
        valid_until_(valid_until) {}
  void lock() override {}
  bool try_lock() override { return true; }
  bool try_lock_until(MonotonicTime, std::stop_token) override { return true; }
  void release() override {}
  bool is_held_by_me() const override { return true; }
  int hold_count() const override { return 1; }
  std::optional<MonotonicTime> valid_until() const override { return valid_until_; }
  std::string acquisition() const override { return record_; }
  std::stop_token lost() const override { return {}; }
  std::optional<std::uint64_t> token() const override { return 17; }
  std::string_view mode() const noexcept override { return mode_; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return runtime_; }

 private:
  Runtime& runtime_;
  std::string key_, record_, mode_;
  std::optional<MonotonicTime> valid_until_;
};

class RecorderTest : public ::testing::Test {
 protected:
  // Runs `body` on a task of the client c1; the harness waits for its end or its death.
  void as_client(std::function<void(Process&, ClientRecorder&)> body) {
    world->run([&] {
      Process& process = world->add_process("c1");
      ClientRecorder& client = recorder.client("c1");
      client.started(process, 5s);
      Parker& parker = world->harness().runtime().parker();
      bool ended = false;
      struct End {
        bool& ended;
        Parker& parker;
        ~End() {
          ended = true;
          parker.unpark();
        }
      };
      process.start("client", [&] {
        const End end{ended, parker};
        body(process, client);
      });
      while (!ended) parker.park_until(kNever);
    });
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    const checker::History& history = recorder.history();
    for (const Event& event : history.events()) {
      std::string line = std::string(history.text(event.process)) + " " + std::string(to_string(event.type)) +
                         " " + std::string(to_string(event.f));
      for (const checker::Symbol symbol : {event.key, event.id, event.error}) {
        if (symbol != 0) line += " " + std::string(history.text(symbol));
      }
      lines.push_back(line);
    }
    return lines;
  }

  std::unique_ptr<World> world = make_embedded_world({.seed = 7});
  Recorder recorder{*world};
};

// The release of one side names that side, and leaves the other.
TEST_F(RecorderTest, AWriterThatReadsHasTwoHoldsOfOneKey) {
  as_client([&](Process& process, ClientRecorder& client) {
    Runtime& runtime = process.runtime();
    ThreadRecorder thread(client, 0);
    const MonotonicTime until = runtime.now() + 3s;
    const Told writes(runtime, "k", "uuid:1", until, "write"), reads(runtime, "k", "uuid:1", until, "read");
    thread.acquire_invoked("k", "write");
    thread.acquire_ok(writes);
    thread.acquire_invoked("k", "read");
    thread.acquire_ok(reads);
    thread.release_invoked("k", "write");
    thread.release_ok("k");
    client.on_event({.kind = LockEvent::Kind::lost, .key = "k", .acquisition = "uuid:1"});
    thread.acquire_invoked("other", "write");
    thread.acquire_failed("other", "timeout");
    thread.release_invoked("k");
    thread.release_ok("k");
    // All is given back: the next one is another.
    thread.acquire_invoked("k", "write");
    client.on_event({.kind = LockEvent::Kind::acquired, .key = "k", .acquisition = "uuid:1", .node = "r1"});
    thread.acquire_ok(writes);
  });
  std::vector<std::string> told;
  const checker::History& history = recorder.history();
  for (const Event& event : history.events()) {
    if (history.text(event.key) != "k" || event.f == Function::lost) continue;
    told.push_back(std::string(to_string(event.type)) + " " + std::string(to_string(event.f)) + " " +
                   std::string(history.text(event.mode)) + " " + std::string(history.text(event.id)));
  }
  EXPECT_EQ(told, (std::vector<std::string>{"invoke acquire write ", "ok acquire write c1-1",
                                            "invoke acquire read ", "ok acquire read c1-1",
                                            "invoke release write c1-1", "ok release write c1-1",
                                            "invoke release read c1-1", "ok release read c1-1",
                                            "invoke acquire write ", "ok acquire write c1-2"}));
}

TEST_F(RecorderTest, AHoldFromAcquireToRelease) {
  as_client([&](Process& process, ClientRecorder& client) {
    Runtime& runtime = process.runtime();
    ThreadRecorder thread(client, 0);
    runtime.sleep_for(1s);
    thread.acquire_invoked("k");
    const MonotonicTime until = runtime.now() + 3s;
    client.on_event({.kind = LockEvent::Kind::acquired, .key = "k", .acquisition = "uuid:1", .node = "r1"});
    runtime.sleep_for(1ms);
    thread.acquire_ok(Told(runtime, "k", "uuid:1", until));
    client.on_event({.kind = LockEvent::Kind::renewing, .key = "k", .acquisition = "uuid:1", .node = "r1"});
    client.on_event({.kind = LockEvent::Kind::renewed,
                     .key = "k",
                     .acquisition = "uuid:1",
                     .node = "r1",
                     .valid_until = until + 1s});
    thread.release_invoked("k");
    thread.release_ok("k");
  });
  EXPECT_EQ(lines(),
            (std::vector<std::string>{"c1/0 invoke acquire k", "c1/0 ok acquire k c1-1",
                                      "c1/watchdog invoke renew k c1-1", "c1/watchdog ok renew k c1-1",
                                      "c1/0 invoke release k c1-1", "c1/0 ok release k c1-1"}));
  const auto& events = recorder.history().events();
  EXPECT_EQ(events[1].time_ns - events[0].time_ns, 1'000'000);
  EXPECT_EQ(events[1].valid_until_ns - events[0].time_ns, 3'000'000'000);
  EXPECT_EQ(events[3].valid_until_ns - events[0].time_ns, 4'000'000'000);
  EXPECT_EQ(recorder.history().text(events[1].node), "r1");
  EXPECT_EQ(recorder.history().text(events[1].owner), "c1:0");
}

// A downgrade lengthens the lease, and nothing says before that it will be asked for.
TEST_F(RecorderTest, WhatIsExtendedIsRenewed) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    thread.acquire_invoked("k", "read");
    const MonotonicTime until = process.runtime().now() + 3s;
    client.on_event({.kind = LockEvent::Kind::acquired, .key = "k", .acquisition = "uuid:1", .node = "r1"});
    thread.acquire_ok(Told(process.runtime(), "k", "uuid:1", until));
    client.on_event({.kind = LockEvent::Kind::extended,
                     .key = "k",
                     .acquisition = "uuid:1",
                     .node = "r1",
                     .valid_until = until + 1s});
  });
  EXPECT_EQ(lines(),
            (std::vector<std::string>{"c1/0 invoke acquire k", "c1/0 ok acquire k c1-1",
                                      "c1/watchdog invoke renew k c1-1", "c1/watchdog ok renew k c1-1"}));
  EXPECT_EQ(recorder.history().events()[3].valid_until_ns - recorder.history().events()[1].valid_until_ns,
            1'000'000'000);
}

// A design without valid_until claims its lease from the sending of the grant on, not from the first attempt.
TEST_F(RecorderTest, SendingTimePlusLease) {
  as_client([&](Process& process, ClientRecorder& client) {
    Runtime& runtime = process.runtime();
    ThreadRecorder thread(client, 0);
    thread.acquire_invoked("k");
    runtime.sleep_for(700ms);
    client.on_event({.kind = LockEvent::Kind::acquired,
                     .key = "k",
                     .acquisition = "u",
                     .node = "r1",
                     .sent_at = runtime.now()});
    runtime.sleep_for(10ms);
    thread.acquire_ok(Told(runtime, "k", "u", std::nullopt));
  });
  const auto& events = recorder.history().events();
  EXPECT_EQ(events[1].valid_until_ns - events[0].time_ns, 5'700'000'000);
}

TEST_F(RecorderTest, ModePermitsAndTokenAreTold) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    recorder.permits("k", 5);
    thread.acquire_invoked("k", "read", 2);
    thread.acquire_ok(Told(process.runtime(), "k", "u", std::nullopt));
    thread.release_invoked("k");
    thread.release_ok("k");
  });
  const auto& history = recorder.history();
  const auto& events = history.events();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].f, Function::resize);
  EXPECT_EQ(events[0].value, 5);
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(history.text(events[i].mode), "read") << i;
    EXPECT_EQ(events[i].permits, 2u) << i;
    EXPECT_EQ(events[i].token, i == 2 ? checker::Value(17) : checker::Value()) << i;
  }
}

// A place in a queue belongs to the thread on whose task it was told.
TEST_F(RecorderTest, QueueingIsToldOfTheThread) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    const auto body = [&] {
      ThreadRecorder other(client, 1);
      other.acquire_invoked("k");
      client.on_event({.kind = LockEvent::Kind::queued, .key = "k", .acquisition = "q", .node = "r1"});
    };
    thread.acquire_invoked("k");
    process.runtime().spawn("client", body).join();
    client.on_event({.kind = LockEvent::Kind::queued, .key = "k", .acquisition = "p", .node = "r1"});
  });
  EXPECT_EQ(lines(), (std::vector<std::string>{"c1/0 invoke acquire k", "c1/1 invoke acquire k",
                                               "c1/1 ok queue k", "c1/0 ok queue k"}));
}

// Designs that write the owner, not the acquisition, into the record: each hold is an acquisition all the
// same.
TEST_F(RecorderTest, ARecordThatIsUsedAgainIsAnotherAcquisition) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    for (int round = 0; round < 2; ++round) {
      thread.acquire_invoked("k");
      client.asked_acquisition("thread-7");  // the ledger sees the command
      client.asked_acquisition("thread-7");  // and another attempt
      client.on_event(
          {.kind = LockEvent::Kind::acquired, .key = "k", .acquisition = "thread-7", .node = "r1"});
      thread.acquire_ok(Told(process.runtime(), "k", "thread-7", std::nullopt));
      client.on_event({.kind = LockEvent::Kind::renewing, .key = "k", .acquisition = "thread-7"});
      thread.release_invoked("k");
      EXPECT_EQ(client.acquisition("thread-7"), client.last_acquisition("k"));
      thread.release_ok("k");
    }
  });
  const std::vector<std::string> all = lines();
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(all[1], "c1/0 ok acquire k c1-1");
  EXPECT_EQ(all[2], "c1/watchdog invoke renew k c1-1");
  EXPECT_EQ(all[6], "c1/0 ok acquire k c1-2");
  EXPECT_EQ(all[7], "c1/watchdog invoke renew k c1-2");
  EXPECT_EQ(all[9], "c1/0 ok release k c1-2");
}

// A renewal is answered for the hold for which it was sent, whatever the lock calls the next one.
TEST_F(RecorderTest, ALateAnswerBelongsToTheHoldThatWasRenewed) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    const auto told = [&](LockEvent::Kind kind) {
      client.on_event({.kind = kind, .key = "k", .acquisition = "thread-7"});
    };
    const auto hold = [&](bool answered_late) {
      thread.acquire_invoked("k");
      client.asked_acquisition("thread-7");
      if (answered_late) told(LockEvent::Kind::renew_failed);
      told(LockEvent::Kind::acquired);
      thread.acquire_ok(Told(process.runtime(), "k", "thread-7", std::nullopt));
      told(LockEvent::Kind::renewing);
    };
    const auto release = [&] {
      thread.release_invoked("k");
      thread.release_ok("k");
    };
    hold(false);
    release();
    hold(true);
    release();  // and this renewal is never answered
    hold(false);
    told(LockEvent::Kind::renewed);
  });
  std::vector<std::string> renewals;
  for (const std::string& line : lines()) {
    if (line.find("watchdog") != std::string::npos) renewals.push_back(line);
  }
  EXPECT_EQ(renewals,
            (std::vector<std::string>{"c1/watchdog invoke renew k c1-1", "c1/watchdog info renew k c1-1",
                                      "c1/watchdog invoke renew k c1-2", "c1/watchdog invoke renew k c1-3",
                                      "c1/watchdog ok renew k c1-3"}));
}

TEST_F(RecorderTest, AnUnknownOutcomeRenamesTheThread) {
  as_client([&](Process&, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    thread.acquire_invoked("k");
    thread.acquire_unknown("k", "no answer");
    thread.acquire_invoked("k");
    thread.acquire_failed("k", "timeout");
  });
  EXPECT_EQ(lines(), (std::vector<std::string>{"c1/0 invoke acquire k", "c1/0 info acquire k no answer",
                                               "c1/0#1 invoke acquire k", "c1/0#1 fail acquire k timeout"}));
}

TEST_F(RecorderTest, NothingIsRecordedForTheDead) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    thread.acquire_invoked("k");
    client.crashed();
    process.crash();
    thread.acquire_ok(Told(process.runtime(), "k", "u", std::nullopt));
    client.on_event({.kind = LockEvent::Kind::lost, .key = "k", .acquisition = "u"});
  });
  EXPECT_EQ(lines(), (std::vector<std::string>{"c1/0 invoke acquire k", "c1 info crash"}));
}

// A hold keeps its name however many refused attempts of its client pass by.
TEST_F(RecorderTest, AHeldRecordKeepsItsName) {
  as_client([&](Process& process, ClientRecorder& client) {
    ThreadRecorder thread(client, 0);
    client.on_event({.kind = LockEvent::Kind::acquired, .key = "k", .acquisition = "held", .node = "r1"});
    thread.acquire_ok(Told(process.runtime(), "k", "held", std::nullopt));
    const checker::Symbol id = client.acquisition("held");
    for (int i = 0; i < 5000; ++i) client.acquisition("refused" + std::to_string(i));
    EXPECT_EQ(client.acquisition("held"), id);
    EXPECT_EQ(client.last_acquisition("k"), id);
  });
}

// Designs that write their process into the record: the commands of the 300th acquisition are still its own.
TEST_F(RecorderTest, ARecordThatIsAskedForAgainAndAgainKeepsItsName) {
  as_client([&](Process&, ClientRecorder& client) {
    const checker::Symbol id = client.asked_acquisition("process");
    for (int i = 0; i < 2000; ++i) {
      client.acquisition("uuid" + std::to_string(i));
      EXPECT_EQ(client.asked_acquisition("process"), id);
    }
  });
}

// A fault that is triggered by an event acts before the client goes on.
TEST_F(RecorderTest, TriggersRunAtOnce) {
  std::vector<std::string> fired;
  as_client([&](Process& process, ClientRecorder& client) {
    recorder.subscribe({.event = RunEventKind::lock_granted, .client = "c1", .nth = 2},
                       [&](const RunEvent& event) {
                         fired.push_back(std::string(to_string(event.kind)) + " " + std::string(event.id));
                         recorder.mark("second-grant");
                         client.crashed();
                         process.crash();
                       });
    recorder.subscribe({.event = RunEventKind::lock_granted, .client = "c2"},
                       [&](const RunEvent&) { fired.push_back("c2"); });
    ThreadRecorder thread(client, 0);
    for (int round = 1; round <= 3; ++round) {
      thread.acquire_invoked("k");
      thread.acquire_ok(Told(process.runtime(), "k", "u" + std::to_string(round), std::nullopt));
      thread.release_invoked("k");
      thread.release_ok("k");
    }
  });
  EXPECT_EQ(fired, std::vector<std::string>{"lock.granted c1-2"});
  EXPECT_TRUE(recorder.reached("second-grant"));
  EXPECT_EQ(lines().back(), "c1 info crash");
}

}  // namespace
}  // namespace holdfast::sim
