// Redlock whose servers, or a majority of them, were never there: said at once, as by the locks of one
// server.
#include <gtest/gtest.h>

#include <list>

#include "lib/lock/redlock/redlock.h"
#include "lib/testing/scene.h"
#include "lib/testing/servers.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Servers;
using testing::Where;

class RedlockFirstContact : public ::testing::TestWithParam<Where> {};

INSTANTIATE_TEST_SUITE_P(Ports, RedlockFirstContact, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

redis::ClientOptions to(const Endpoint& endpoint, std::size_t number) {
  return {.nodes = {{"r" + std::to_string(number + 1), endpoint}}};
}

// Clients of `there`, then of addresses where nobody listens, and their Redlocks.
struct FirstContact {
  FirstContact(Fixture& fixture, const std::vector<Endpoint>& there, std::size_t dead, Duration timeout,
               bool wait_for_servers = false) {
    std::vector<Endpoint> endpoints = there;
    std::vector<std::unique_ptr<Listener>> taken;  // until all are chosen: else one may be given out twice
    for (std::size_t i = 0; i < dead; ++i) {
      taken.push_back(fixture.network.listen({"127.0.0.1", 0}));
      endpoints.push_back(taken.back()->endpoint());
    }
    taken.clear();
    std::vector<redis::Client*> pointers;
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      redis::ClientOptions options = to(endpoints[i], i);
      options.command_timeout = timeout;
      options.wait_for_servers = wait_for_servers;
      pointers.push_back(&clients.emplace_back(fixture.runtime, fixture.network, options));
    }
    locks.emplace(pointers, RedlockOptions{.lock = {.lease = 60s}});
    lock = locks->obtain("k");
  }
  std::list<redis::Client> clients;
  std::optional<Redlocks> locks;
  std::shared_ptr<Lock> lock;
};

// What was never there is most likely a wrong address: told at once, as by the locks of one server, with a
// word for each server. Who set wait_for_servers waits.
TEST_P(RedlockFirstContact, ServersThatWereNeverThere) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    for (const bool wait : {false, true}) {
      FirstContact first(fixture, {}, 3, wait ? Duration(200ms) : Duration(3600s), wait);
      const auto refused = [&](const std::function<void()>& acquire) {
        const MonotonicTime start = fixture.runtime.now();
        try {
          acquire();
          ADD_FAILURE();
        } catch (const Unavailable& error) {
          const std::string what = error.what();
          for (const char* text :
               {"lock 'k'", "r1", "r2", "connection refused", "check that the servers run"}) {
            EXPECT_NE(what.find(text), std::string::npos) << text << " is not in: " << what;
          }
          EXPECT_FALSE(error.may_have_executed());
        }
        const Duration took = fixture.runtime.now() - start;
        if (wait) {
          EXPECT_GE(took, 200ms);
        } else if (fixture.where == Where::embedded) {
          EXPECT_LT(took, 100ms);
        }
      };
      refused([&] { first.lock->lock(); });
      refused([&] { static_cast<void>(first.lock->try_lock()); });
      refused([&] { static_cast<void>(first.lock->try_lock_for(wait ? 300ms : 3600s)); });
      EXPECT_FALSE(first.lock->is_held_by_me());
    }
  });
}

// One of three is there, or two.
TEST_P(RedlockFirstContact, SomeServersWereNeverThere) {
  testing::on_servers(GetParam(), 2, [](Fixture& fixture, Servers& servers) {
    redis::Client straight(fixture.runtime, fixture.network, to(servers.endpoint(0), 0));
    {
      FirstContact one(fixture, {servers.endpoint(0)}, 2, 3600s);
      EXPECT_THROW(one.lock->lock(), Unavailable);
      EXPECT_THROW(static_cast<void>(one.lock->try_lock_for(3600s)), Unavailable);
      // What that one granted is given back, long before its lease ends.
      while (ask(straight, {"DBSIZE"}).integer != 0) fixture.runtime.sleep_for(1ms);
    }
    FirstContact two(fixture, {servers.endpoint(0), servers.endpoint(1)}, 1, 3600s);
    two.lock->lock();
    EXPECT_TRUE(two.lock->is_held_by_me());
    two.lock->unlock();
  });
}

}  // namespace
}  // namespace holdfast
