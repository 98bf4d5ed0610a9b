// What a lock promises of a hold, beside the server's own record of it, to the nanosecond: for grants,
// renewals, hand-overs, downgrades, extensions, adoptions and requests that had to be repeated, of every
// kind, in virtual time with drawn latencies.
//
// - valid_until is at most the end of the record less what two clocks may differ by in a lease (1%); where
//   the server's clock does run that much faster, at most the end of the record.
// - It never moves back.
// - It is the sending of a request that names the owner, plus the lease, less 1% and 2 ms; of the last such
//   request where no reply was lost. The sending is read off the wire. A permit that was handed over is
//   promised from the moment of the call on.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/testing/fixture.h"
#include "sim/client/lock_kind.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/redis/engine.h"
#include "sim/truth/decoders.h"
#include "sim/world/world.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using sim::embedded::Engine;
using sim::embedded::KeyspaceWitness;

constexpr Duration kLease = 5s, kLonger = 12s;
constexpr std::string_view kLongerMs = "12000";
constexpr Duration kHop = 20us;  // from a client to the proxy, which sees what is sent
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

std::int64_t in_ns(Duration time) { return time.count(); }
// What is promised of a lease, counted from the sending: locks.h.
std::int64_t promised(Duration lease) { return in_ns(lease - lease / 100 - 2ms); }

struct Case {
  std::string kind;
  bool shared = false, fair = false;
  std::int64_t drift_ppm = 0;  // of the servers' clocks
  bool losses = false;         // one reply in ten is lost with its connection
  // A hold can be given to another owner.
  bool moves() const {
    return kind == "reentrant" || kind == "non-reentrant" || kind == "spin" || kind == "fenced" ||
           kind == "fair";
  }
};

// When each record of one server ends, by owner, on the world's clock.
class Records final : public KeyspaceWitness {
 public:
  Records(sim::World& world, const Case& test) : world_(world), test_(test) {}
  void changed(Engine& engine, std::string_view key, Cause cause) override {
    const sim::Decoder& decoder = *sim::find_decoder(test_.kind);
    const auto lock = decoder.lock_of(key);
    if (!lock || cause == Cause::expired) return;
    ends_.clear();
    const std::int64_t wall = Duration(engine.runtime().wall_now().time_since_epoch()).count();
    for (const sim::Holding& holding : decoder.decode(engine.db(0), *lock)) {
      const std::int64_t left = holding.until_ms * 1'000'000 - wall;
      const auto in_world = static_cast<std::int64_t>(static_cast<long double>(left) * 1'000'000 /
                                                      static_cast<long double>(1'000'000 + test_.drift_ppm));
      std::int64_t& end = ends_.try_emplace(holding.owner, kNone).first->second;
      end = std::max(end, world_.now_ns() + in_world);
    }
  }
  void loaded(Engine&) override { ends_.clear(); }
  std::int64_t end_of(const std::string& owner) const {
    const auto found = ends_.find(owner);
    return found == ends_.end() ? kNone : found->second;
  }

 private:
  sim::World& world_;
  const Case& test_;
  std::map<std::string, std::int64_t> ends_;
};

// A world with its servers, what stands there, and what was sent.
class Stand {
 public:
  explicit Stand(const Case& test) : test_(test) {}
  void run(std::uint64_t seed, const std::function<void(Stand&)>& body) {
    world = sim::make_embedded_world({.seed = seed, .hop = kHop});
    std::unique_ptr<sim::Cluster> cluster;
    std::unique_ptr<sim::Proxy> proxy;
    world->run([&] {
      proxy = std::make_unique<sim::Proxy>(*world);
      sim::ClusterOptions options{.topology = sim::Topology::independent, .nodes = {}};
      for (int i = 0; i < (test_.kind == "redlock" ? 3 : 1); ++i) {
        options.nodes.push_back("r" + std::to_string(i + 1));
        records_[options.nodes.back()] = std::make_unique<Records>(*world, test_);
      }
      options.witness = [&](const std::string& node) { return records_.at(node).get(); };
      cluster = sim::make_embedded_cluster(*world, *proxy, options);
      cluster->start();
      for (const auto& node : cluster->nodes()) {
        node->set_drift(test_.drift_ppm);
        nodes.push_back({node->name(), node->endpoint()});
      }
      proxy->add_rule(sim::make_latency_rule({1ms, 40ms}, world->rng("network")));
      if (test_.losses) {
        proxy->add_rule(sim::make_nth_message_rule(
            {.which = [](const sim::Link&) { return sim::Lanes{.reply = true}; },
             .matches = [](const sim::Message& message) { return message.command != "HELLO"; },
             .count = 0,
             .chance = {.part = 10, .of = 100},
             .draws = sim::Rng(seed),
             .action = {.kind = sim::Action::Kind::reset}}));
      }
      proxy->watch([this](const sim::Message& message) {
        if (message.direction == sim::Direction::request) sent(message);
      });
      body(*this);
    });
  }

  // The end of the record: the last one for which a majority of the servers has it.
  std::int64_t end_of(const std::string& owner) const {
    std::vector<std::int64_t> ends;
    for (const auto& [node, records] : records_) ends.push_back(records->end_of(owner));
    std::sort(ends.begin(), ends.end(), std::greater<>());
    return ends.at(ends.size() / 2);
  }
  // What the requests that name `owner` allow to be promised, in the order of their sending.
  const std::vector<std::int64_t>& promises(const std::string& owner) { return promises_[owner]; }

  // extend() was called: its request and a renewal may be under way at one time.
  bool asked_for_longer(const std::string& owner) const { return longer_.contains(owner); }

  std::unique_ptr<sim::World> world;
  std::vector<redis::Node> nodes;

 private:
  void sent(const sim::Message& message) {
    const auto& words = message.arguments;
    const bool longer = std::find(words.begin(), words.end(), kLongerMs) != words.end();
    for (const std::string_view word : words) {
      if (word.size() < 38 || word[36] != ':') continue;  // no "<uuid>:<number>"
      if (longer) longer_.insert(std::string(word));
      promises_[std::string(word)].push_back(world->now_ns() - in_ns(kHop) +
                                             promised(longer ? kLonger : kLease));
    }
  }

  const Case& test_;
  std::map<std::string, std::unique_ptr<Records>> records_;
  std::map<std::string, std::vector<std::int64_t>> promises_;
  std::set<std::string> longer_;
};

struct Seen {
  int grants = 0, handed_over = 0, renewals = 0, extensions = 0, repeated = 0;
};

// Compares every promise, at the moment at which it is made.
class Auditor final : public LockObserver {
 public:
  Auditor(Stand& stand, sim::Process& process, const Case& test, Seen& seen)
      : stand_(stand), process_(process), test_(test), seen_(seen) {}
  bool is_quick() const noexcept override { return true; }
  void on_event(const LockEvent& event) noexcept override {
    using Kind = LockEvent::Kind;
    if (event.kind != Kind::acquired && event.kind != Kind::renewed && event.kind != Kind::extended) return;
    audit(std::string(event.acquisition), *event.valid_until);
    seen_.grants += event.kind == Kind::acquired ? 1 : 0;
    seen_.renewals += event.kind == Kind::renewed ? 1 : 0;
    seen_.extensions += event.kind == Kind::extended ? 1 : 0;
  }

 private:
  void audit(const std::string& owner, MonotonicTime valid_until) {
    const std::int64_t until = process_.world_ns(valid_until), end = stand_.end_of(owner);
    ASSERT_NE(end, kNone) << owner << " is promised what no server knows of";
    const std::int64_t drift = test_.drift_ppm == 0 ? in_ns(kLease / 100) : 0;
    EXPECT_LE(until, end - drift) << "longer than the record, by ns: " << until - (end - drift);
    std::int64_t& before = latest_.try_emplace(owner, kNone).first->second;
    EXPECT_GE(until, before) << "shorter than promised before, by ns: " << before - until;
    before = until;
    if (end - until > in_ns(kLease / 4)) ++seen_.handed_over;  // its patience outlasts a lease by a third
    std::vector<std::int64_t> allowed = stand_.promises(owner);
    ASSERT_FALSE(allowed.empty());
    if (allowed.size() > 1) ++seen_.repeated;
    if (const std::int64_t whole = stand_.world->now_ns() + promised(kLease);
        test_.kind == "permit-semaphore" && until == whole) {
      ++seen_.handed_over;
      allowed.push_back(whole);
    }
    const bool late_is_usual =
        test_.losses && test_.kind == "redlock";  // counts before it has connected anew
    if (late_is_usual) {
      EXPECT_LE(until, *std::max_element(allowed.begin(), allowed.end()));
    } else if (test_.losses || stand_.asked_for_longer(owner)) {
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), until), allowed.end())
          << "counted from no sending; beside the last one, in ns: " << until - allowed.back();
    } else {
      EXPECT_EQ(until, allowed.back()) << "not counted from the sending, by ns: " << until - allowed.back();
    }
  }

  Stand& stand_;
  sim::Process& process_;
  const Case& test_;
  Seen& seen_;
  std::map<std::string, std::int64_t> latest_;  // of each hold
};

// One client process: takes the lock, holds it for up to two leases, gives it back.
class Worker {
 public:
  Worker(Stand& stand, const Case& test, int number, Seen& seen)
      : test_(test),
        process_(stand.world->add_process("c" + std::to_string(number))),
        auditor_(stand, process_, test, seen),
        draw_(stand.world->rng("worker" + std::to_string(number))) {
    process_.start("client", [this, nodes = stand.nodes] { work(nodes); });
  }
  bool over() const { return over_; }

 private:
  void work(const std::vector<redis::Node>& nodes) {
    Runtime& runtime = process_.runtime();
    std::list<redis::Client> clients;
    std::vector<redis::Client*> pointers;
    for (const redis::Node& node : nodes) {
      redis::Client& client =
          clients.emplace_back(runtime, process_.network(), redis::ClientOptions{.nodes = {node}});
      pointers.push_back(&client);
      ready(client);
    }
    const LockOptions options{.lease = kLease, .observer = &auditor_};
    if (test_.kind == "permit-semaphore") {
      PermitSemaphore semaphore(clients.front(), "k", {.lock = options, .permits = 2});
      for (int round = 0; round < 12; ++round) turn(runtime, semaphore);
    } else {
      const sim::LockSpaceOptions of_kind{
          .client = clients.front(), .lock = options, .nodes = pointers, .permits = 2, .fair = test_.fair};
      const auto space = sim::find_lock_kind(test_.kind)->make(of_kind);
      const auto lock = test_.shared ? space->obtain_shared("k") : space->obtain("k");
      for (int round = 0; round < 12; ++round) {
        turn(runtime, *lock);
        runtime.sleep_for(drawn(100ms));
      }
    }
    over_ = true;
  }
  // A vote counts from its first sending, and not from that of a script's text.
  static void ready(redis::Client& client) {
    for (;;) {
      try {
        for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew}) {
          client.call({"SCRIPT", "LOAD", script->text});
        }
        return;
      } catch (const redis::Error&) {
      }
    }
  }
  void turn(Runtime& runtime, Lock& lock) {
    try {
      lock.lock();
      if (test_.moves() && draw_.between(0, 3) == 0 && !lock.adopt(lock.detach())) return;
      runtime.sleep_for(drawn(kLease));
      auto* const whole = dynamic_cast<ReadWriteLock*>(&lock);
      if (draw_.between(0, 2) == 0) lock.extend(kLonger);
      if (whole != nullptr && draw_.between(0, 2) == 0) {
        whole->downgrade();
        runtime.sleep_for(drawn(kLease));
        whole->release_shared();
        return;
      }
      runtime.sleep_for(drawn(kLease));
      lock.release();
    } catch (const LockError&) {  // lost: it may have been given back by a reply that was lost
      if (lock.hold_count() > 0) lock.unlock();
    }
  }
  void turn(Runtime& runtime, PermitSemaphore& semaphore) {
    try {
      const Permit permit = semaphore.acquire();
      runtime.sleep_for(drawn(kLease));
      semaphore.extend(permit.id);
      runtime.sleep_for(drawn(kLease));
      semaphore.release(permit.id);
    } catch (const LockError&) {  // no answer in time
    }
  }
  Duration drawn(Duration most) {
    return Duration(static_cast<Duration::rep>(draw_.between(0, static_cast<std::uint64_t>(in_ns(most)))));
  }

  const Case& test_;
  sim::Process& process_;
  Auditor auditor_;
  sim::Rng draw_;
  bool over_ = false;
};

class Claims : public ::testing::TestWithParam<Case> {
 protected:
  static Seen check(const Case& test, std::uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Seen seen;
    Stand stand(test);
    std::list<Worker> workers;
    stand.run(seed, [&](Stand& ready) {
      for (int i = 1; i <= 4; ++i) workers.emplace_back(ready, test, i, seen);
      Runtime& runtime = ready.world->harness().runtime();
      while (!std::all_of(workers.begin(), workers.end(), [](const Worker& one) { return one.over(); })) {
        runtime.sleep_for(1s);
      }
    });
    return seen;
  }
};

std::string to_string(const Case& test) {
  std::string name = test.kind;
  std::replace(name.begin(), name.end(), '-', '_');
  return name + (test.shared ? "_read" : "") + (test.fair ? "_fair" : "") +
         (test.drift_ppm != 0 ? "_fast_server" : "") + (test.losses ? "_lost_replies" : "");
}
void PrintTo(const Case& test, std::ostream* out) { *out << to_string(test); }

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const char* kind : {"reentrant", "non-reentrant", "spin", "fenced", "fair", "redisson", "read-write",
                           "semaphore", "permit-semaphore", "redlock"}) {
    for (const bool shared : {false, true}) {
      for (const bool fair : {false, true}) {
        if ((shared || fair) && std::string(kind) != "read-write") continue;
        const Case plain{.kind = kind, .shared = shared, .fair = fair};
        Case fast = plain, losses = plain;
        fast.drift_ppm = 10'000;
        losses.losses = true;
        cases.insert(cases.end(), {plain, fast, losses});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Claims, ::testing::ValuesIn(every_case()),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(Claims, AreWhatTheServersRecordAllows) {
  const Case& test = GetParam();
  Seen all;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Seen seen = check(test, seed);
    all.grants += seen.grants;
    all.handed_over += seen.handed_over;
    all.renewals += seen.renewals;
    all.extensions += seen.extensions;
    all.repeated += seen.repeated;
  }
  const bool permit = test.kind == "permit-semaphore";
  const bool handed_over = test.kind == "reentrant" || test.kind == "non-reentrant" ||
                           test.kind == "fenced" || test.kind == "fair" || test.kind == "semaphore" ||
                           permit || (test.kind == "read-write" && !test.shared) || test.kind == "redisson";
  EXPECT_GE(all.grants, test.losses ? 100 : 144);
  EXPECT_GE(all.handed_over, handed_over ? 20 : 0);
  EXPECT_GT(all.renewals, 100);
  EXPECT_GE(all.extensions, permit ? 0 : 10);
  EXPECT_GT(all.repeated, 10);
}

}  // namespace
}  // namespace holdfast
